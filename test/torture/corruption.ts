import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { VerifyReport } from '../../src/embedded/maintenance/report.ts';
import { damage, damageData } from './damage.ts';
import { complain, type Figures, type Plan } from './figures.ts';
import { seeded } from './random.ts';
import { type Outcome, type Reading, readEach } from './read-each.ts';
import { fromBuild, Scene } from './scene.ts';
import { MARK, soundStore, streams } from './sound-store.ts';

const AT_ONCE = 25;
type Truth = Readonly<Record<string, Reading>>;

/** How the last process left a store: closed, with what it put down then; killed; or nobody knows. */
export type End = { readonly seal: Buffer } | 'killed' | 'unknown';

/** A folder with this data file. */
export function place(dir: string, bytes: Buffer, end: End): string {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'events.mdb'), bytes);
  const claim = '{"pid":999999999,"started":"gone","endpoint":null,"won":true}';
  if (end === 'killed') writeFileSync(join(dir, 'lock.999999999.0123456789abcdef'), claim);
  else if (end !== 'unknown') writeFileSync(join(dir, 'closed'), end.seal);
  return dir;
}

/**
 * D6: damages the data file in many ways, has `weir store verify`'s own function judge it and reads everything through a
 * server over it. Each reading gives what is true or ends in an error, the server never dies of it, and where `verify`
 * finds nothing nothing is wrong. `count` is the number of seeds. The canary does not compare checksums.
 */
export async function torturedByDamage({ count, seed, from = 0, canary }: Plan, figures: Figures): Promise<void> {
  const { verifyStore } =
    await fromBuild<typeof import('../../src/embedded/maintenance/verify.ts')>('maintenance/verify');
  const scene = new Scene();
  const seen = { refused: 0, noticed: 0, harmless: 0 };
  let corrupt = 0;
  try {
    const { sound, older, seal } = await soundStore(scene);
    const untouched = place(join(scene.dir(), 'untouched'), sound, { seal });
    const truth = truthOf(await verifyStore(untouched), await readEach([{ dir: untouched, streams }]));
    const faults = canary ? { skipChecksums: true } : undefined;
    for (let next = from; next < from + count; ) {
      const inner = new Scene();
      try {
        const base = inner.dir();
        const cases = Array.from({ length: Math.min(AT_ONCE, from + count - next) }, (_, i) => {
          const cycle = next + i;
          const random = seeded(seed, cycle);
          const { bytes, what, needsSeal } = canary
            ? damageData(sound, MARK, random)
            : damage(sound, older, random, cycle);
          const isKilled = !needsSeal && random.next() < 0.5;
          const dir = place(join(base, `${cycle}`), bytes, isKilled ? 'killed' : { seal });
          return { dir, name: `cycle ${cycle} (${what}, ${isKilled ? 'killed' : 'closed'})`, cycle };
        });
        next += cases.length;
        const reports = await inTwos(cases, ({ dir }) => verifyStore(dir, { skipChecksums: canary === true }));
        const outcomes = await readEach(cases.map(({ dir }) => ({ dir, streams, faults })));
        for (const [i, { dir, name, cycle }] of cases.entries()) {
          const outcome = outcomes[i]!;
          const wrong = lies(outcome, reports[i]!, truth);
          for (const sentence of wrong) complain(figures, `${name}: ${sentence}`);
          if (wrong.length > 0) {
            figures.lost++;
            const keep = process.env.TORTURE_KEEP;
            if (keep) copyFileSync(join(dir, 'events.mdb'), join(keep, `${cycle}.mdb`));
          }
          seen[kindOf(outcome, truth)]++;
          if (reports[i]!.verdict === 'corrupt') corrupt++;
          figures.cycles++;
        }
      } finally {
        await inner.end();
      }
    }
  } finally {
    await scene.end();
  }
  const { refused, noticed, harmless } = seen;
  figures.notes.push(
    `${refused} refused at the start, ${noticed} noticed by readers, ${harmless} harmless; verify calls ${corrupt} corrupt`,
  );
}

/** What the sound store holds. @throws Error when it is not as it should be */
function truthOf(report: VerifyReport, [outcome]: readonly Outcome[]): Truth {
  if (report.verdict !== 'ok' || report.purgedStreams !== 1) throw new Error(JSON.stringify(report));
  if (outcome === undefined || !('reads' in outcome)) throw new Error(JSON.stringify(outcome));
  const { forwards, backwards } = outcome.reads;
  if (forwards!.events.length < 600) throw new Error(`only ${forwards!.events.length} events`);
  if (JSON.stringify(backwards!.events.toReversed()) !== JSON.stringify(forwards!.events))
    throw new Error('backwards is not forwards');
  return outcome.reads;
}

function kindOf(outcome: Outcome, truth: Truth): 'refused' | 'noticed' | 'harmless' {
  if (!('reads' in outcome)) return 'refused';
  return Object.entries(outcome.reads).every(([name, { error }]) => error === truth[name]!.error)
    ? 'harmless'
    : 'noticed';
}

/** What is wrong with what was read, against what was written: other events, fewer without a word, a dead server. */
function lies(outcome: Outcome, { verdict }: VerifyReport, truth: Truth): string[] {
  if ('killed' in outcome) return [`the server was killed: ${outcome.killed}`];
  if ('refused' in outcome) return verdict === 'ok' ? ['verify found nothing in a store that does not open'] : [];
  const found: string[] = [];
  for (const [name, { events, error }] of Object.entries(outcome.reads)) {
    const wanted = truth[name]!;
    const place = events.findIndex((event, i) => JSON.stringify(event) !== JSON.stringify(wanted.events[i]));
    if (place >= 0) found.push(`${name}: place ${place} is another event`);
    else if (error === wanted.error && events.length < wanted.events.length)
      found.push(`${name}: ${events.length} of ${wanted.events.length} events without a word`);
    if (verdict === 'ok' && error !== wanted.error) found.push(`verify found nothing, but ${name} ends with ${error}`);
  }
  return found;
}

async function inTwos<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const next = [...items.entries()];
  const lane = async () => {
    for (let item = next.shift(); item !== undefined; item = next.shift()) results[item[0]] = await work(item[1]);
  };
  await Promise.all([lane(), lane()]);
  return results;
}
