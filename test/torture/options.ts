import { type LongTest, longTests } from './long-tests.ts';
import { type Kind, tortures } from './tortures.ts';

export interface Options {
  readonly runs: readonly { readonly kind: Kind | LongTest; readonly count: number }[];
  readonly seed: number | undefined;
  readonly from: number;
  /** Connection string of the store to be tortured, where that is not one of its own. */
  readonly store: string | undefined;
  readonly help: boolean;
}

/** The command line is not understood; the message is one sentence. */
export class BadOptions extends Error {
  override readonly name = 'BadOptions';
}

const kinds: readonly (Kind | LongTest)[] = [...tortures, ...longTests];
const width = Math.max(...kinds.map(({ title }) => title.length));
const listed = (some: readonly (Kind | LongTest)[]): string =>
  some
    .map(({ id, title, unit, counts }) => `  ${id.padEnd(7)}${title.padEnd(width)}  ${counts.long} ${unit}`)
    .join('\n');

export const usage = `Usage: npm run torture -- [D1=1000 D2 …] [options]

Tortures the event store and what stands on it, each torture and first its canary: the same with the protection switched
off, which has to be noticed. Without a name all are run.

${listed(tortures)}

And tests of all lanes, at length:

${listed(longTests)}

  --seed N    everything that chance decides follows from it (default: a new one)
  --store URL connection string of a store that is not ours, such as a cluster for tests: what can be done to it is done to
              it, and what is left out is told; the guide is left as it is
  --from N    begin with this cycle, to see a failure again; the guide is left as it is

The figures are printed and go into the table of test/README.md, where a smaller run does not replace a larger one.
Exit status: 0 all is well, 1 something was wrong, 2 bad options. What needs root, strace or a C compiler is skipped
without, and said so. TORTURE_KEEP names a folder for files that D6 has damaged unnoticed.
`;

const wholeNumber = (name: string, text: string | undefined, least: number): number => {
  if (text === undefined || !/^\d{1,9}$/.test(text) || Number(text) < least)
    throw new BadOptions(`${name} needs a whole number from ${least} on.`);
  return Number(text);
};

/** @throws BadOptions with the first fault */
export const readOptions = (args: readonly string[]): Options => {
  const runs: { kind: Kind | LongTest; count: number }[] = [];
  const options: { seed?: number; from?: number; store?: string } = {};
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--help' || word === '-h') return { runs: [], seed: undefined, from: 0, store: undefined, help: true };
    if (word === '--seed' || word === '--from') {
      options[word === '--seed' ? 'seed' : 'from'] = wholeNumber(word, rest.shift(), 0);
      continue;
    }
    if (word === '--store') {
      const url = rest.shift();
      if (url === undefined || !/^(esdb|kurrentdb)(\+discover)?:\/\/./.test(url))
        throw new BadOptions('--store needs a connection string: esdb://…');
      options.store = url;
      continue;
    }
    const [id, count, ...more] = word.split('=');
    const kind = kinds.find((each) => each.id === id?.toUpperCase());
    if (kind === undefined || more.length > 0)
      throw new BadOptions(`There is no ${word}; there are ${kinds.map((each) => each.id).join(', ')}.`);
    if (runs.some((run) => run.kind === kind)) throw new BadOptions(`${kind.id} is there twice.`);
    runs.push({ kind, count: count === undefined ? kind.counts.long : wholeNumber(kind.id, count, 1) });
  }
  const { seed, from = 0, store } = options;
  if (from > 0 && !(runs.length === 1 && 'isRepeatable' in runs[0]!.kind && runs[0]!.kind.isRepeatable))
    throw new BadOptions('--from needs one torture, and one whose cycles have seeds of their own.');
  const all = kinds.map((kind) => ({ kind, count: kind.counts.long }));
  return { runs: runs.length > 0 ? runs : all, seed, from, store, help: false };
};
