import { setTimeout as wait } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { type Past, pastOf } from '../../audit/past.ts';
import { readConfig } from '../../config/config.ts';
import { timeOfId } from '../../ids.ts';
import type { RowReader } from '../../kernel/rows/rows.ts';
import { Failure } from '../../process/failure.ts';
import { several, wholeNumber } from '../option-values.ts';
import { jsonOf, listing, type Output } from '../table/listing.ts';
import { printable, type Terminal, UsageError, untilStopped } from '../terminal.ts';
import { entryPage, entryThen } from './entry-page.ts';
import { checkForms, entryType, type Who, whoIs } from './forms.ts';
import { type EntryRow, logEntries } from './log-entries.ts';
import { countsOf, entriesIn, entriesOf, inOrder, ofLog, organizationsOf, type PageQuery } from './log-query.ts';
import { checkSpan, parseTime } from './moment.ts';
import { readingRows } from './reading.ts';
import { widthOf } from './sheet.ts';
import { whenIn } from './words.ts';

interface Options extends PageQuery, Output {
  readonly follow?: true;
}

const mostEntries = 100_000;
const lookEveryMs = 200;

const anActor = (text: string): Who => {
  const who = whoIs(text);
  if (who.id?.startsWith('oat_'))
    throw new InvalidArgumentError('A token acts under its client: give oac_…, or ask weir audit who oat_….');
  if (who.id !== null && timeOfId(who.id) === null)
    throw new InvalidArgumentError('Give akey_…, key_…, oac_…, an OS user, what --actor said, or operator:NAME.');
  return who;
};

const anOrder = (text: string): 'asc' | 'desc' => {
  if (text === 'asc' || text === 'desc') return text;
  throw new InvalidArgumentError('Give asc or desc.');
};

/** `weir audit log`, with the filters of `GET /v1/organization/audit_logs`. */
export const logCommand = (terminal: Terminal): Command =>
  listing(new Command('log'))
    .description('The audit log: who did what, newest first; of one organization, or of all')
    .argument('[organization]', 'org_…; default: every organization')
    .option(
      '--type <type>',
      'such as api_key.created or project_key.created, which are the same; may be repeated, as all that follow here',
      several(entryType),
    )
    .option('--project <id>', 'proj_…', several(String))
    .option('--actor <who>', 'akey_…, key_…, oac_…, an OS user, what --actor said, or operator:NAME', several(anActor))
    .option('--resource <id>', 'what it happened to', several(String))
    .option('--request <id>', 'req_…', several(String))
    .option('--from <time>', 'a time, or a date (its first moment, UTC)', parseTime)
    .option('--to <time>', 'the same, exclusive', parseTime)
    .option('--order <order>', 'asc or desc', anOrder, 'desc')
    .option('--limit <count>', 'entries at most', wholeNumber(1, mostEntries), 50)
    .option('--after <entry>', 'audit_…: go on behind it; needs an organization')
    .option('--before <entry>', 'audit_…: end in front of it; needs an organization')
    .option('--follow', 'then each new entry as it comes, until Ctrl-C')
    .action((organization: string | undefined, options: Options) => {
      checkSpan(options.from, options.to);
      checkForms(options);
      if (organization === undefined && (options.after ?? options.before) !== undefined)
        throw new UsageError('--after and --before need an organization: weir audit log org_….');
      if (options.follow && (options.order === 'asc' || options.to !== undefined))
        throw new UsageError('--follow goes with neither --order nor --to: it shows the newest, and then what comes.');
      return readingRows(terminal, async (store, rows, onCorrupt, isServed) => {
        if (options.follow && !isServed && readConfig(terminal.env).EVENTSTORE_URL === undefined)
          throw new Failure('No server runs on these files, so nothing can follow.');
        const counts = countsOf(rows, organizationsOf(rows, organization));
        const ownEntries = async (): Promise<readonly EntryRow[]> =>
          organization === undefined ? ofLog(await logEntries(store), options) : [];
        const ofTheLog = await ownEntries();
        const entries = await entriesOf(rows, counts, options);
        // Entries of one organization are ordered already.
        const found = organization === undefined ? inOrder([...entries, ...ofTheLog], options) : entries;
        const ask = (): Past => pastOf(store, { onCorrupt });
        const past = ask();
        const print = printer(terminal, options);
        for (const row of options.follow ? found.reverse() : found) await print.entry(past, row);
        if (options.follow) {
          const seen = { counts, ofTheLog: ofTheLog.length };
          await follow(terminal, ask, rows, organization, options, seen, ownEntries, print);
        }
        print.end();
      });
    });

interface Printer {
  entry(past: Past, row: EntryRow): Promise<void>;
  end(): void;
}

/** Prints entries as they arrive, as JSON or as pages. */
const printer = (terminal: Terminal, options: Options): Printer => {
  const json = jsonOf(terminal, options);
  if (json) {
    return {
      entry: async (past, row) => json.add(await entryThen(past, row)),
      end: () => json.end(),
    };
  }
  const width = widthOf(terminal, options);
  const when = whenIn(options);
  let count = 0;
  return {
    async entry(past, row) {
      terminal.out(`${count === 0 ? '' : '\n'}${await entryPage(past, row, width, when)}`);
      count += 1;
    },
    end() {
      if (count > 0) return;
      const names = options.actor?.map(({ name }) => printable(name)).join(' or ');
      terminal.err(names === undefined ? 'Nothing to show.\n' : `Nothing to show: no such entry is by ${names}.\n`);
    },
  };
};

const follow = async (
  terminal: Terminal,
  ask: () => Past,
  rows: RowReader,
  organization: string | undefined,
  options: Options,
  before: { readonly counts: ReadonlyMap<string, number>; readonly ofTheLog: number },
  ownEntries: () => Promise<readonly EntryRow[]>,
  print: Printer,
): Promise<void> => {
  const ended = new AbortController();
  void untilStopped(terminal).then(() => ended.abort());
  const seen = new Map(before.counts);
  let { ofTheLog } = before;
  while (!ended.signal.aborted) {
    await wait(lookEveryMs, undefined, { signal: ended.signal }).catch(() => {});
    // Cached replays may be out of date.
    const past = ask();
    for (const [id, count] of countsOf(rows, organizationsOf(rows, organization))) {
      const from = seen.get(id) ?? 0;
      seen.set(id, count);
      if (count === from) continue;
      const span = { from, to: count - 1, order: 'asc' } as const;
      for (const row of await entriesIn(rows, id, span, options, count - from)) await print.entry(past, row);
    }
    const own = await ownEntries();
    for (const row of own.slice(ofTheLog)) await print.entry(past, row);
    ofTheLog = own.length;
  }
};
