import type { AuditOrder, AuditSample, CommandSample } from '../micro/audit-log.ts';
import { type Bar, type BarRule, barOf } from '../report/bar.ts';
import type { Scenario } from './scenario.ts';

/** Two events each: one of its own stream, one of its project's. */
const keys = 500_000;
const withinMs = 1_800_000;

const rules = {
  verify: {
    id: 'audit-verify',
    title: 'audit verify, judging events in memory',
    unit: 'events/s of CPU',
    atLeast: 100_000,
  },
  proof: { id: 'audit-proof', title: 'a proof among a million leaves, CPU', unit: 'ms', atMost: 5 },
  state: {
    id: 'audit-state',
    title: 'state of a project with 1,001 events at a moment, CPU',
    unit: 'ms',
    atMost: 50,
  },
  share: {
    id: 'audit-share',
    title: 'chain and tree, share of the CPU of a command with its append',
    unit: '%',
    atMost: 5,
  },
  rebuild: { id: 'audit-rebuild', title: 'all read models from a million events, CPU', unit: 's', atMost: 30 },
} as const satisfies Readonly<Record<string, BarRule>>;

const each = ({ cpuSeconds, count }: AuditSample): number => (cpuSeconds * 1000) / count;
const told = (name: string, { count, cpuSeconds, seconds }: AuditSample): string =>
  `${name}: ${count.toLocaleString('en-US')} in ${seconds.toFixed(2)} s, ${cpuSeconds.toFixed(2)} s of CPU`;

/** What the proof that nobody has rewritten the log costs, and what is read off the log. */
export const audit: Scenario = {
  id: 'audit',
  title: 'The audit log with a million events',
  about: [
    `An embedded store with ${keys.toLocaleString('en-US')} keys of 500 projects, which the law has decided, and the checkpoints of all; in one process with what reads it. CPU is that of the process, the store's thread among it.`,
    'The share of a command is that of the hash that the next event names, of the leaf and of its part of a checkpoint, beside making organizations 16 at a time without HTTP.',
  ],
  async run(stage) {
    const child = await stage.child(
      'The audit log',
      new URL('../micro/audit-log.ts', import.meta.url),
      stage.pinning.server,
    );
    const notes: string[] = [];
    const steps: readonly (readonly [name: string, part: number, order: AuditOrder])[] = [
      ['filling', 0, { is: 'fill', dir: stage.dir, keys }],
      ['read models from the beginning', 0.5, { is: 'rebuild' }],
      ['proofs', 0.7, { is: 'prove' }],
      ['verify, with reading', 0.75, { is: 'verify' }],
      ['verify, in memory', 0.85, { is: 'judge' }],
      ['state', 0.9, { is: 'replay' }],
      ['state, with the count of its 1,000 usable keys', 0.92, { is: 'count' }],
      ['commands', 0.95, { is: 'command' }],
    ];
    const seen = new Map<string, AuditSample>();
    for (const [name, part, order] of steps) {
      if (stage.interrupted.aborted) return {};
      stage.tell(name, part);
      const sample = await child.ask<AuditSample>(order, withinMs);
      seen.set(order.is, sample);
      notes.push(told(name, sample));
    }
    const sampleOf = (is: AuditOrder['is']): AuditSample => seen.get(is) as AuditSample;
    const judged = sampleOf('judge');
    const command = sampleOf('command') as CommandSample;
    const bars: Bar[] = [
      barOf(rules.verify, judged.count / judged.cpuSeconds),
      barOf(rules.proof, each(sampleOf('prove'))),
      barOf(rules.state, each(sampleOf('replay'))),
      barOf(rules.share, (100 * command.auditSeconds) / command.cpuSeconds),
      barOf(rules.rebuild, sampleOf('rebuild').cpuSeconds),
    ];
    return { rounds: null, notes, barsOf: () => bars };
  },
};
