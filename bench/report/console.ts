import { hello, messages, models } from '../scenarios/http.ts';
import { type ContenderName, unitOf } from '../scenarios/names.ts';
import type { Result } from './result.ts';
import { httpTable, storeTable, type Titled } from './table.ts';

const titles: Readonly<Record<ContenderName, string>> = {
  hello: `a  ${hello.label}`,
  models: `b  ${models.label}`,
  messages: `c  ${messages.label}`,
  appends: 'd  embedded store, appends',
  puts: '   bare LMDB, puts',
};

/** The whole report for a terminal: what was done, the tables, what they do not say, the verdict. */
export const report = (result: Result): string =>
  `\n${[conditions(result), ...tables(result), notes(result), verdict(result)].join('\n')}`;

const conditions = ({ settings, pinning, environment }: Result): string => {
  const where =
    pinning.server === null
      ? `NOT PINNED (${pinning.reason}): server and generator may share a core`
      : `server on core ${pinning.server}, generator on core ${pinning.generator}`;
  const { rounds, seconds, warmUpSeconds } = settings;
  const { commit, modified } = environment;
  const source =
    commit === null ? 'an unknown commit' : `${commit.slice(0, 7)}${modified ? ' with local changes' : ''}`;
  return [
    `Weir of ${source} on ${environment.cpu}, ${environment.cores} cores, kernel ${environment.kernel}, Node ${environment.node}`,
    `${rounds} interleaved rounds of ${seconds} s each; ${where}`,
    `medians; ratios are medians of the rounds' own ratios with a bootstrap 95 % interval`,
    `one process per server for the whole run (a new one per round is too dear for a short run), so what differs`,
    `between two starts of a server is not in the intervals; ${warmUpSeconds} s of warm-up each are discarded\n`,
  ].join('\n');
};

const tables = ({ rows, verdict: { unratedNames } }: Result): string[] => {
  const titled = rows.map((row): Titled => {
    const unit = unitOf[row.name];
    const isUnrated = unratedNames.includes(row.name);
    return {
      row,
      title: titles[row.name],
      isUnit: unit === null,
      isUnrated,
      isUnratable: isUnrated || (unit !== null && unratedNames.includes(unit)),
    };
  });
  const isStore = ({ row: { name } }: Titled): boolean => name === 'appends' || name === 'puts';
  const http = titled.filter((each) => !isStore(each));
  const store = titled.filter(isStore);
  return [...(http.length > 0 ? [httpTable(http)] : []), ...(store.length > 0 ? [storeTable(store)] : [])];
};

const notes = ({ samples, settings }: Result): string => {
  const { connections, inFlight, eventBytes } = settings;
  const lines: string[] = [];
  if (samples.hello)
    lines.push(
      `a–c: closed loop over ${connections} keep-alive connections on loopback, one request at a time on each.`,
      'CPU: user and system of all threads of the server; in Weir the thread of the embedded store is included, idle.',
      'Replies differ in size (reply B): writing and sending the larger ones is part of the ratio.',
      'server, load: share of one core. sleeps: of the server per request; near 0 it always had work waiting.',
    );
  if (samples.models)
    lines.push(
      'b: authentication, all limits of three scopes and all headers, with 512 keys of as many organizations. The limits are',
      '   as large as they can be, so that none refuses; to check them is the same work.',
    );
  if (samples.messages)
    lines.push(
      'c: 600-byte body; the simulated model computes its answer in the same thread, which is in the CPU figure.',
    );
  if (samples.appends)
    lines.push(
      `d: one ${eventBytes}-byte event an append, fsync before each answer, ${inFlight} in flight, each to a stream of its own with its`,
      "   expected revision. The load is the published client, unmodified: its cost bounds the rate too. CPU: the store's",
      `   process with its worker thread. LMDB: one ${eventBytes}-byte put each in one process, so "load" is "server" again.`,
    );
  return `${lines.map((line) => `  ${line}\n`).join('')}`;
};

const verdict = ({ verdict: { is, invalid, rates }, surroundings: { load, steal } }: Result): string => {
  const stolen = steal === null ? 'unknown' : `${(steal * 100).toFixed(1)} %`;
  return [
    `load average ${load.before.toFixed(1)} before, ${load.after.toFixed(1)} after; steal ${stolen}`,
    ...invalid.map((reason) => `INVALID: ${reason}`),
    ...rates.map((reason) => `rate: ${reason}`),
    `${is}\n`,
  ].join('\n');
};
