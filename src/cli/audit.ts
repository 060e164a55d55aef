import Table from 'cli-table3';
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { existingEventLog } from '../app/event-log.ts';
import { Failure } from '../app/failure.ts';
import { type Effective, effectiveAt } from '../audit/effective.ts';
import { history, type Moment, NoHistory, NotAnId, type StateAt, stateAt } from '../audit/history.ts';
import { systemClock } from '../clock.ts';
import { readConfig } from '../config.ts';
import type { Actor, EventStore, Recorded } from '../kernel/store.ts';
import { chargeCommand } from './audit-charge.ts';
import { exportCommand } from './audit-log/export-command.ts';
import { checkpointCommand, keyCommand, rotateKeyCommand } from './audit-log/key-commands.ts';
import { consistencyCommand, proveCommand } from './audit-log/proof-commands.ts';
import { verifyCommand } from './audit-log/verify-command.ts';
import { withExamples } from './examples.ts';
import { printable, type Terminal, UsageError } from './terminal.ts';

const examples = `
Examples:
  weir audit history key_01jd…                      every change of a key: who, when, by which request
  weir audit history proj_01jd… --json              the same, one JSON object a line
  weir audit state proj_01jd… --at 2026-11-20T12:00:00Z
  weir audit state proj_01jd… --at 3                as its fourth event (revision 3) left it
  weir audit charge req_01jd…                       what a request cost, worked out from events
  weir audit verify --against /mnt/worm/checkpoints  whether anybody has rewritten the log
  weir audit prove project-proj_01jd…@0             that an event is in the log, to be checked elsewhere
  weir audit consistency monday tuesday             that one checkpoint’s log has become another’s
  weir audit export --out acme.ndjson --organization org_01jd…
                                                    what an auditor takes away, with its proofs
  weir audit checkpoint                             the newest signed checkpoint, to keep elsewhere
  weir audit key                                    the public keys, for whoever verifies elsewhere
  weir audit rotate-key --reason "yearly"           sign with another key from now on`;

/** `weir audit`: what happened to one organization, project, key or policy, read off its events. Works beside a running server. */
export const auditCommand = (terminal: Terminal): Command => {
  const audit = new Command('audit').description('Replay what happened, and prove that nobody has rewritten it');
  withExamples(audit, examples);
  audit
    .command('history')
    .description('Every event of one id, oldest first')
    .argument('<id>', 'org_…, proj_…, key_…, akey_…, pol_… or oac_…')
    .option('--json', 'one JSON object a line')
    .action(async (id: string, options: { json?: true }) => {
      const events = await reading(terminal, (store) => history(store, id));
      terminal.out(options.json ? events.map(asJson).join('') : asTable(events));
    });
  audit
    .command('state')
    .description('What one id was at a moment, or is now')
    .argument('<id>', 'org_…, proj_…, key_…, akey_…, pol_… or oac_…')
    .option('--at <time|revision>', 'an RFC 3339 time, or the number of an event', parseMoment)
    .option('--json', 'as one JSON object')
    .action(async (id: string, options: { at?: Moment; json?: true }) => {
      const shown = await reading(terminal, async (store) => {
        const state = await stateAt(store, id, options.at);
        const { at = systemClock.wall() } = momentOf(options.at, state);
        return stateAsJson(state, await effectiveAt(store, state, at));
      });
      terminal.out(options.json ? `${JSON.stringify(shown)}\n` : stateAsTable(shown));
    });
  audit.addCommand(chargeCommand(terminal));
  audit.addCommand(verifyCommand(terminal));
  audit.addCommand(proveCommand(terminal));
  audit.addCommand(consistencyCommand(terminal));
  audit.addCommand(exportCommand(terminal));
  audit.addCommand(checkpointCommand(terminal));
  audit.addCommand(keyCommand(terminal));
  audit.addCommand(rotateKeyCommand(terminal));
  return audit;
};

const reading = async <T>(terminal: Terminal, read: (store: EventStore) => Promise<T>): Promise<T> => {
  const log = await existingEventLog(readConfig(terminal.env));
  try {
    return await read(log.store);
  } catch (error) {
    if (error instanceof NotAnId) throw new UsageError(printable(error.message));
    if (error instanceof NoHistory) throw new Failure(printable(error.message));
    throw error;
  } finally {
    await log.close();
  }
};

/** With the zone: without it a time would be read as of wherever the command runs. */
const rfc3339 = z.iso.datetime({ offset: true });

const parseMoment = (text: string): Moment => {
  if (/^\d{1,15}$/.test(text)) return { revision: Number(text) };
  if (!rfc3339.safeParse(text).success) {
    throw new InvalidArgumentError('Give a time with its zone, such as 2026-11-20T12:00:00Z, or a revision.');
  }
  return { time: Date.parse(text) };
};

const iso = (at: number): string => new Date(at).toISOString();

const asJson = ({ stream, revision, position, id, type, data, metadata }: Recorded): string =>
  `${JSON.stringify({ stream, revision, position: String(position), id, type, at: iso(metadata.at), data, metadata })}\n`;

const whoOf = ({ type, id, host, command, name, reason }: Actor): string => {
  const lines = [`${type} ${id}${host === undefined ? '' : ` at ${host}`}`, command, name, reason];
  return lines.flatMap((line) => (line === undefined ? [] : [printable(line)])).join('\n');
};

const asTable = (events: readonly Recorded[]): string => {
  const table = new Table({ head: ['rev', 'at', 'what', 'who', 'request', 'data'], style: { head: [], border: [] } });
  for (const { revision, type, data, metadata } of events) {
    const fields = Object.entries(data).map(([name, value]) => `${name}: ${printable(JSON.stringify(value))}`);
    table.push([revision, iso(metadata.at), type, whoOf(metadata.actor), metadata.request_id ?? '', fields.join('\n')]);
  }
  return `${table.toString()}\n`;
};

/** A revision stands for the time of its event. */
const momentOf = (moment: Moment | undefined, state: StateAt): { readonly at?: number } => {
  if (moment === undefined) return {};
  return { at: 'time' in moment ? moment.time : state.at };
};

const stateAsJson = ({ id, revision, at, state }: StateAt, effective: Effective) => ({
  id,
  revision,
  at: iso(at),
  status: state.status,
  effective,
  data: state.data as object,
});

const stateAsTable = ({ id, revision, at, status, effective, data }: ReturnType<typeof stateAsJson>): string => {
  const table = new Table({ style: { head: [], border: [] } });
  table.push({ id }, { revision }, { 'last change': at }, { status });
  table.push({ effective: `${effective.status}, by ${effective.because}` });
  if (effective.usable_keys !== undefined) table.push({ 'usable keys': effective.usable_keys });
  for (const [name, value] of Object.entries(data)) table.push({ [name]: printable(JSON.stringify(value)) });
  return `${table.toString()}\n`;
};
