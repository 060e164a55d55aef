// Lane: rest: it asks a verifier in Python
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { exportLines } from '../../../src/audit/log/export.ts';
import type { LogKey } from '../../../src/audit/log/key-belief.ts';
import { rotateKey, type Signers } from '../../../src/audit/log/keys.ts';
import { leafList } from '../../../src/audit/log/proof.ts';
import { verdictOf } from '../../../src/audit/log/verify/verdict.ts';
import type { Report } from '../../../src/audit/log/verify/verify.ts';
import { isRemovable, whose } from '../../../src/domain/streams.ts';
import { chained } from '../../../src/kernel/aggregate/chained.ts';
import { logEvent } from '../../../src/kernel/store/log-event.ts';
import type { Metadata, Recorded } from '../../../src/kernel/store/store.ts';
import { parsedNote, signed } from '../../../src/merkle/note.ts';
import { type MemoryStore, memoryStore } from '../../support/memory-store.ts';
import { mutations } from '../log/mutations.ts';
import { begun, clock, copyOf, plantKey, signers, signersOf, write } from '../log/scene.ts';
import {
  checkpoint,
  coveredBy,
  freshId,
  grow,
  isCheckpoint,
  keysOf,
  leavesIn,
  notesOf,
  type Random,
  randomOf,
  signedLog,
  verify,
} from '../log/signed-log.ts';
import { asked, hasPython, judged, program, type Question } from './second-verifier.ts';

/** AUDIT_SEEDS=1000 is the long form: 27,000 exports. */
const seeds = Number(process.env.AUDIT_SEEDS ?? 3);
const timeout = 60_000 + 5_000 * seeds;

const folder = mkdtempSync(join(tmpdir(), 'weir-export-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function* streamed<T>(list: Iterable<T>): AsyncGenerator<T> {
  yield* list;
}

/** The lines of `weir audit export` of a log, where these secrets are at hand. */
const exported = async (log: readonly Recorded[], by: Signers = signers): Promise<string[]> => {
  // Whoever exports believes his own, also where the log does not know it.
  const believed = [...(await keysOf(log, by)).believed, { verifier: by(1).verifier } as LogKey];
  const leaves = await leafList(streamed(log.filter(isCheckpoint)), { believed });
  const ours = log.filter((event) => whose(event) === 'ours' && !isCheckpoint(event));
  const source = {
    organizationId: null,
    checkpoint: leaves.newest!,
    keys: [...new Set(believed.map(({ verifier }) => verifier.text))],
    leaves,
    indexOf: leaves.indexOf,
    entries: streamed(ours.map((event) => ({ event }))),
    stubs: leaves.stubs,
  };
  const lines: string[] = [];
  for await (const line of exportLines(source)) lines.push(line);
  return lines;
};

/** A log with a checkpoint of its own, and who vouches for what in it. */
interface Corpus {
  readonly log: readonly Recorded[];
  /** Of checkpoints from outside. */
  readonly seen?: readonly Recorded[];
  readonly trusted?: readonly number[];
  /** The secrets of whoever exports it. */
  readonly by?: Signers;
  /** Milliseconds. */
  readonly now?: number;
}
type Shape = (random: Random) => Promise<Corpus>;

/** A store that holds these very events. */
const holding = (log: readonly Recorded[]): MemoryStore => {
  const store = memoryStore();
  for (const event of log) store.plantAsIs(event.stream, [copyOf(event)]);
  (store.log as Recorded[]).splice(0, store.log.length, ...log);
  return store;
};

const imported = async (random: Random, withCheckpoints = true): Promise<Corpus & { readonly alone: Corpus }> => {
  const store = await signedLog(random);
  checkpoint(store);
  const seen = [...store.log];
  const copy = holding(withCheckpoints ? seen : leavesIn(seen));
  const imported = { size: withCheckpoints ? coveredBy(seen) : 0, events: seen.length };
  copy.plantAsIs('log-imported', [logEvent('import', 'log-imported', 'log.imported', imported, clock)]);
  checkpoint(copy);
  grow(copy, random, 2);
  return { log: copy.log, seen, alone: { log: copy.log, seen: copy.log.slice(seen.length) } };
};

const rotated = async (random: Random): Promise<Corpus> => {
  const store = await signedLog(random, 3);
  await rotateKey(store, signers, clock);
  checkpoint(store, 0, signers, 2);
  for (let n = 0; n < 3; n++) write(store, n, n);
  return { log: store.log };
};

/** Goes on under a key for which nobody vouches: the master key is lost, or somebody without any has planted it. */
const goneOn = async (random: Random): Promise<Corpus & { readonly before: readonly Recorded[] }> => {
  const store = await signedLog(random, 3);
  const before = [...store.log];
  const by = signersOf('another');
  plantKey(store, 2, by);
  checkpoint(store, 0, by, 2);
  for (let n = 0; n < 3; n++) write(store, n, n);
  return { log: store.log, before, by };
};

/** Somebody has planted a key, and the log goes on under its own. */
const planted = async (random: Random): Promise<Corpus> => {
  const store = await signedLog(random, 3);
  plantKey(store, 2);
  grow(store, random, 2);
  await rotateKey(store, signers, clock);
  checkpoint(store, 0, signers, 2);
  plantKey(store, 3);
  return { log: store.log };
};

/** Some of what may be removed is gone, of a stream the oldest first. */
const aged = async (random: Random): Promise<Corpus> => {
  const { log } = await signedLog(random);
  const last = leavesIn(log)[coveredBy(log) - 1];
  const gone = new Set<Recorded>();
  const kept = new Set<string>();
  for (const event of leavesIn(log)) {
    const { stream } = event;
    if (isRemovable(stream) && event !== last && !kept.has(stream) && random.next() < 0.6) gone.add(event);
    else kept.add(stream);
  }
  return { log: log.filter((event) => !gone.has(event)), seen: log };
};

const clean: Readonly<Record<string, Shape>> = {
  'a log that nobody touched': async (random) => ({ log: (await signedLog(random)).log }),
  'without checkpoints from outside': async (random) => ({ log: (await signedLog(random)).log, seen: [] }),
  'without a key from outside': async (random) => ({ log: (await signedLog(random)).log, trusted: [] }),
  'with removed events': aged,
  'whose key was rotated': rotated,
  'into which somebody has written keys': planted,
  'that goes on under a key which a checkpoint elsewhere knows': goneOn,
  'on whose streams others have written': async (random) => {
    const store = await signedLog(random);
    checkpoint(store);
    const last = store.log.findLast(({ stream }) => /^(project|organization)-/.test(stream))!;
    const { stream, revision } = last;
    store.plantAsIs(stream, [{ ...copyOf(last), id: freshId(), metadata: {} as Metadata }]);
    store.plantAsIs(stream, chained(stream, { revision: revision + 1, last }, [{ ...copyOf(last), id: freshId() }]));
    return { log: store.log };
  },
  'that was imported, with the checkpoints of its own log': (random) => imported(random),
  'that was imported, with checkpoints since then alone': async (random) => (await imported(random)).alone,
  'that was imported without its checkpoints': async (random) => (await imported(random, false)).alone,
};

/** Nothing is wrong with them, and nobody vouches for what has signed them last. */
const unproven: Readonly<Record<string, Shape>> = {
  'under a key that is in the log alone': async (random) => {
    const { before, ...corpus } = await goneOn(random);
    return { ...corpus, seen: before };
  },
  'under a planted key, whose line somebody has put beside the log’s own on a checkpoint outside': async (random) => {
    const { log } = await signedLog(random);
    const index = log.findLastIndex(isCheckpoint);
    const store = holding(log.slice(0, index + 1));
    const at = log[index]!;
    const note = String(at.data.note);
    const { text } = parsedNote(note)!;
    const line = signed(text, signersOf('forger')(2)).slice(text.length + 1);
    const seen = log.slice(0, index + 1).with(index, { ...at, data: { ...at.data, note: `${note}${line}` } });
    plantKey(store, 2);
    write(store, 0, 77);
    checkpoint(store, 0, signersOf('forger'), 2);
    return { log: store.log, seen, by: signersOf('forger') };
  },
  'under such a key, without checkpoints from outside': async (random) => ({ ...(await goneOn(random)), seen: [] }),
};

const forged: Readonly<Record<string, Shape>> = {
  ...Object.fromEntries(
    Object.entries(mutations).map(([name, mutate]): [string, Shape] => [
      name,
      async (random) => {
        const { log: seen } = await signedLog(random);
        const { log } = await mutate(seen, random);
        const by = name === 'sign with another key' ? signersOf('another') : signers;
        if (log.some(isCheckpoint)) return { log, seen, by };
        // A gateway signs what it finds.
        const store = holding(log);
        checkpoint(store);
        return { log: store.log, seen };
      },
    ]),
  ),
  'what may be gone one day is gone before': async (random) => {
    const store = await signedLog(random);
    write(store, 2, random.between(0, 6));
    const last = store.log.at(-1)!;
    write(store, 1, 1);
    checkpoint(store);
    return { log: store.log.filter((event) => event !== last), seen: store.log, now: Date.UTC(2021, 0) };
  },
  'an event has what no canonical form has': async (random) => {
    const { log: seen } = await signedLog(random);
    const index = leavesIn(seen).findIndex(({ stream }, i) => i > 1 && !isRemovable(stream));
    const event = leavesIn(seen)[index]!;
    const name = random.of([1 / 0, '\ud800']);
    return { log: seen.with(seen.indexOf(event), { ...event, data: { name } }), seen };
  },
  'rewritten, and signed with a planted key': async (random) => {
    const { log: seen } = await signedLog(random);
    const store = await begun();
    grow(store, random, 3);
    plantKey(store, 2);
    for (let n = 0; leavesIn(store.log).length <= coveredBy(seen); n++) write(store, n % 3, n);
    checkpoint(store, 0, signersOf('forger'), 2);
    return { log: store.log, seen, by: signersOf('forger') };
  },
  'the keys are of another': async (random) => ({ log: (await signedLog(random)).log, trusted: [7] }),
};

let files = 0;
const written = (text: string | Buffer): string => {
  const name = join(folder, String(files++));
  writeFileSync(name, text);
  return name;
};

/** An export whose end counts and hashes what is there now. */
const ended = (lines: readonly string[]): string => {
  const count = (type: string) => lines.filter((line) => line.startsWith(`{"type":"${type}"`)).length;
  const counts = { events: count('event'), removed: count('removed'), uncovered: count('uncovered') };
  const sha256 = createHash('sha256').update(lines.join('')).digest('hex');
  return `${lines.join('')}${JSON.stringify({ type: 'end', ...counts, sha256 })}\n`;
};

type Line = Record<string, unknown>;
const changed = (lines: readonly string[], at: number, change: (line: Line) => Line): string[] =>
  lines.with(at, `${JSON.stringify(change(JSON.parse(lines[at]!) as Line))}\n`);

/** What can be done to an export by whoever computes its end anew. */
const edits: Readonly<Record<string, (lines: readonly string[], random: Random) => string[]>> = {
  // That there were more which nobody has signed, nothing shows.
  'a line is left out': (lines, random) => {
    const signed = lines.filter((line) => /^\{"type":"(event|removed)"/.test(line));
    return lines.toSpliced(lines.indexOf(random.of(signed)), 1);
  },
  'a line is there twice': (lines, random) => {
    const at = random.between(1, lines.length - 1);
    return lines.toSpliced(at, 0, lines[at]!);
  },
  'two lines have changed places': (lines, random) => {
    const at = random.between(
      1,
      lines.findLastIndex((line) => line.startsWith('{"type":"event"')),
    );
    return lines.with(at, lines[at + 1]!).with(at + 1, lines[at]!);
  },
  'an event is another': (lines, random) =>
    changed(lines, random.between(1, 5), (line) => ({
      ...line,
      event: String(line.event).replace('"at":', '"at":1'),
    })),
  'an event has a space more': (lines, random) =>
    changed(lines, random.between(1, 5), (line) => ({ ...line, event: `${line.event} ` })),
  'an event has another index': (lines, random) =>
    changed(lines, random.between(1, 5), (line) => ({ ...line, index: Number(line.index) + 1 })),
  'an index is no number': (lines, random) =>
    changed(lines, random.between(1, 5), (line) => ({ ...line, index: { toString: 1 } })),
  'a proof is shorter': (lines, random) =>
    changed(lines, random.between(1, 5), (line) => ({ ...line, proof: (line.proof as string[]).slice(1) })),
  'a proof is longer': (lines, random) =>
    changed(lines, random.between(1, 5), (line) => {
      const proof = line.proof as string[];
      return { ...line, proof: [...proof, proof[0]] };
    }),
  'an event has a stub': (lines, random) =>
    changed(lines, random.between(1, 3), (line) => ({ ...line, stub: '{"hash":"","revision":0,"stream":"denial-x"}' })),
  'an event is not covered': (lines) =>
    changed(lines, 3, ({ event }) => ({ type: 'uncovered', event: String(event).replace('"at":', '"at":1') })),
  'an event is said to be removed': (lines) =>
    changed(lines, 2, ({ index, event, proof }) => ({ type: 'removed', index, stub: event, proof })),
  'the manifest has another key': (lines) =>
    changed(lines, 0, (line) => ({ ...line, public_keys: [signersOf('another')(1).verifier.text] })),
  'another key has signed': (lines) =>
    changed(lines, 0, (line) => {
      const signer = signersOf('another')(1);
      const checkpoint = signed(String(line.checkpoint).replace(/\n\n[\s\S]*/, '\n'), signer);
      return { ...line, checkpoint, public_keys: [signer.verifier.text] };
    }),
  'the checkpoint is of another size': (lines) =>
    changed(lines, 0, (line) => ({ ...line, checkpoint: String(line.checkpoint).replace(/\n\d/, '\n9') })),
  'there is nothing': () => ['\n'],
  'there is deep nesting': (lines) => lines.with(2, `${'['.repeat(100_000)}\n`),
};

const utf8 = new TextDecoder('utf-8', { fatal: true });
const isExport = (file: string): boolean => {
  try {
    const { type, format } = JSON.parse(utf8.decode(readFileSync(file)).split('\n')[0]!) as Line;
    return type === 'manifest' && format === 'weir-audit-export/1';
  } catch {
    return false;
  }
};

/** Whether its last line is whole, and says that it is the last. */
const hasEnd = (file: string): boolean => /\n\{"type":"end",[^\n]*\}\n$/.test(readFileSync(file, 'latin1'));

interface Answer {
  readonly seed: number;
  /** Of the export. */
  readonly status: 0 | 1 | 2;
  /** Of the log. */
  readonly code: 0 | 1 | 2;
  /** Of the first finding. */
  readonly class: string | undefined;
}

const answers = async (shape: Shape, ask: (question: Question, first: Answer) => void): Promise<void> => {
  for (let seed = 0; seed < seeds; seed++) {
    const { log, seen = log, trusted = [1], now = Date.UTC(2026, 0), by } = await shape(randomOf(seed));
    const against = notesOf(seen);
    const keys = trusted.map((number) => signers(number).verifier);
    const report = await verify(log, { against, trusted: keys, now });
    const question = {
      export: written((await exported(log, by)).join('')),
      pubs: keys.map(({ text }) => text),
      against: against.length === 0 ? [] : [written(against.map(({ signed }) => signed).join(''))],
      now: now / 1000,
    };
    const { code } = verdictOf(report);
    const found = report.findings.filter(({ class: what }) => what !== 'rolled-back')[0]?.class;
    const isShorter = code === 1 && found === undefined;
    ask(question, { seed, code, status: statusOfExport(report, isShorter ? 0 : code, isShorter), class: found });
  }
};

/**
 * What an export cannot show: that its log has gone on, which is the same to it as that the log was taken back; and that events
 * which nobody has signed are those of the log.
 */
const statusOfExport = (
  { covered, uncovered, outside }: Report,
  code: Answer['status'],
  isShorter: boolean,
): Answer['status'] => {
  if (code !== 0) return code;
  const proven = outside ?? 0;
  return (isShorter && proven < covered) || (uncovered > 0 && proven < covered + uncovered) ? 2 : 0;
};

/**
 * Where an export cannot show the class: two events in each other's place are not signed; one that is not Weir's any more is left
 * out; one that was inserted may have the place of one that was removed.
 */
const alike: Readonly<Record<string, readonly string[]>> = {
  swapped: ['altered', 'missing'],
  altered: ['missing'],
  inserted: ['altered'],
};

const statuses = { clean: [0, 2], unproven: [2], forged: [1] };

for (const [what, shapes] of Object.entries({ clean, unproven, forged })) {
  test.skipIf(!hasPython)(`both verifiers agree on logs that are ${what}`, { timeout }, async () => {
    const questions: Question[] = [];
    const first: (Answer & { readonly name: string })[] = [];
    for (const [name, shape] of Object.entries(shapes)) {
      await answers(shape, (question, answer) => {
        questions.push(question);
        first.push({ name, ...answer });
      });
    }
    const second = judged(questions).map(({ status, findings }, i) => {
      const { name, seed, code, class: expected } = first[i]!;
      const classes = findings.map((finding) => finding.class);
      const isFound = expected && [expected, ...(alike[expected] ?? [])].some((each) => classes.includes(each));
      return { name, seed, status, code, class: isFound ? expected : classes[0] };
    });
    expect(second).toEqual(first);
    expect([...new Set(first.map(({ code }) => code))].sort()).toEqual(statuses[what as keyof typeof statuses]);
  });
}

test.skipIf(!hasPython)(
  'an export that was edited is found out, with its end computed anew or not',
  { timeout },
  async () => {
    const questions: Question[] = [];
    const names: string[] = [];
    const ask = (name: string, text: string | Buffer): void => {
      questions.push({ export: written(text), pubs: [signers(1).verifier.text], against: [] });
      names.push(name);
    };
    for (let seed = 0; seed < seeds; seed++) {
      const random = randomOf(seed);
      const { log } = await aged(random);
      const lines = await exported(log);
      const body = lines.slice(0, -1);
      expect(ended(body)).toBe(lines.join(''));
      for (const [name, edit] of Object.entries(edits)) ask(`${seed}: ${name}`, ended(edit(body, random)));
      const bytes = Buffer.from(lines.join(''));
      for (let n = 0; n < 20; n++) {
        const at = random.between(0, bytes.length);
        const flipped = Buffer.from(bytes);
        flipped[at] = bytes[at]! ^ (1 << random.between(0, 8));
        ask(`${seed}: byte ${at}`, flipped);
        ask(`${seed}: cut off at ${at}`, bytes.subarray(0, at));
      }
      ask(`${seed}: nothing`, lines.join(''));
    }
    // Where the first line is not that of an export any more, nothing is said of it.
    // What lacks its end was cut short, and nothing is said of it either.
    const isCut = ({ export: file }: Question) => !isExport(file) || !hasEnd(file);
    const found = (status: number, i: number) => status === 1 || (status === 3 && isCut(questions[i]!));
    const missed = judged(questions).flatMap(({ status }, i) => (found(status, i) ? [] : [names[i]]));
    expect(missed).toEqual(Array.from({ length: seeds }, (_, seed) => `${seed}: nothing`));
  },
);

test.skipIf(!hasPython)(
  'the keys are named by their text or by a file, and what are none lead to no verdict',
  async () => {
    const { log } = await allSigned();
    const file = written((await exported(log)).join(''));
    const against = [
      '--against',
      written(
        notesOf(log)
          .map((note) => note.signed)
          .join(''),
      ),
    ];
    const { text } = signers(1).verifier;
    const other = signersOf('another')(1).verifier.text;
    const status = (...pubs: string[]) =>
      asked(program, file, ...against, ...pubs.flatMap((pub) => ['--pub', pub])).status;
    expect([status(text), status(written(`${text}\n`)), status(`${other}\n${text}`), status(other, text)]).toEqual([
      0, 0, 0, 0,
    ]);
    expect([status(other), status(written(other))]).toEqual([1, 1]);
    const none = ['nonsense', '', written(''), written('nonsense'), text.replace('weir', 'Weir')];
    expect(none.map((pub) => status(pub))).toEqual(none.map(() => 64));
    expect(status(join(folder, 'none'))).toBe(64);
  },
);

const textOf = (log: readonly Recorded[]): string =>
  notesOf(log)
    .map((note) => note.signed)
    .join('');

/** What the second verifier says of exports, with the key of their log. */
const said = (...exports: readonly { readonly text: string; readonly kept: string }[]) =>
  judged(
    exports.map(({ text, kept }) => ({
      export: written(text),
      pubs: [signers(1).verifier.text],
      against: [written(kept)],
    })),
  ).map(({ status, findings, lacking, remarks }) => [status, [...findings, ...lacking, ...remarks]]);

const allSigned = async (): Promise<MemoryStore> => {
  const store = await signedLog(randomOf(1));
  checkpoint(store);
  return store;
};

test.skipIf(!hasPython)('an export is held against later checkpoints up to its own', async () => {
  const store = await allSigned();
  const text = (await exported(store.log)).join('');
  const size = coveredBy(store.log);
  const before = textOf(store.log);
  write(store, 1, 1);
  const fresh = (await exported(store.log)).join('');
  checkpoint(store);
  const next = textOf(store.log.slice(-1));
  write(store, 1, 2);
  checkpoint(store);
  const later = textOf(store.log.slice(-1));
  const goneOn = expect.stringContaining(`behind the ${size} of this export`);
  const noneOfIts = expect.stringContaining(`none is of the ${size} of this export`);
  const nobody = expect.stringMatching(/^no checkpoint from outside/);
  const uncovered = expect.stringMatching(/^whether the last 1 events are of the log, or invented/);
  const older = textOf(store.log.filter(isCheckpoint).slice(0, 1));
  expect(
    said(
      { text, kept: before },
      { text, kept: before + later },
      { text, kept: later },
      { text, kept: older + later },
      { text: fresh, kept: before },
      // The event that its own checkpoint does not cover is covered by the next.
      { text: fresh, kept: next },
      { text: fresh, kept: next + later },
    ),
  ).toEqual([
    [0, []],
    [0, [goneOn]],
    [2, [nobody, goneOn]],
    [2, [noneOfIts, goneOn]],
    [2, [uncovered]],
    [0, []],
    [0, [goneOn]],
  ]);
});

test.skipIf(!hasPython)(
  'events that nobody has signed are not said to be whole, and one that is invented is found',
  async () => {
    const store = await allSigned();
    const lines = (await exported(store.log)).slice(0, -1);
    const kept = textOf(store.log);
    const fork = holding([...store.log]);
    write(fork, 1, 7);
    const invented = (await exported(fork.log)).at(-2)!;
    write(store, 1, 1);
    checkpoint(store);
    const text = ended([...lines, invented]);
    const unsigned = expect.stringMatching(/^whether the last 1 events are of the log, or invented/);
    expect(said({ text, kept }, { text, kept: textOf(store.log) })).toEqual([
      [2, [unsigned]],
      [1, [expect.objectContaining({ class: 'forked' }), unsigned]],
    ]);
  },
);

test.skipIf(!hasPython)('an export of one organization is never whole, with and without an event of it', async () => {
  const store = await allSigned();
  const lines = changed((await exported(store.log)).slice(0, -1), 0, (line) => ({ ...line, organization_id: 'org_1' }));
  const kept = textOf(store.log);
  const incomplete = expect.stringContaining('cannot show that no event was left out');
  const uncovered = changed(lines, 3, ({ event }) => ({ type: 'uncovered', event }))[3]!;
  expect(
    said(
      { text: ended(lines), kept },
      { text: ended(lines.toSpliced(3, 1)), kept },
      { text: ended([...lines, uncovered]), kept },
    ),
  ).toEqual([
    [2, [incomplete]],
    [2, [incomplete]],
    [2, [expect.stringContaining('the last 1 events'), incomplete]],
  ]);
});

test.skipIf(!hasPython)(
  'an export of one organization behind a rotation is unproven to who knows the earlier key',
  async () => {
    const { log } = await rotated(randomOf(1));
    const store = holding(log);
    checkpoint(store, 0, signers, 2);
    const lines = (await exported(store.log)).slice(0, -1);
    const file = written(ended(changed(lines, 0, (line) => ({ ...line, organization_id: 'org_1' }))));
    const [one, two] = [1, 2].map((number) => signers(number).verifier.text) as [string, string];
    const asking = (...pubs: string[]) => judged([{ export: file, pubs, against: [] }])[0]!;
    const lacks = expect.stringMatching(
      /^unproven .* the later one may be lacking among those that were named \(--pub\)/,
    );
    expect(asking(one)).toMatchObject({ status: 2, findings: [], lacking: expect.arrayContaining([lacks]) });
    expect(asking(one, two).lacking).not.toContainEqual(lacks);
    expect(asking(signersOf('another')(1).verifier.text)).toMatchObject({ status: 1, findings: [{ class: 'key' }] });
  },
);

test.skipIf(!hasPython)('one event that was changed is one finding', async () => {
  const store = await allSigned();
  const lines = (await exported(store.log)).slice(0, -1);
  const at = lines.length - 3;
  const changes: Readonly<Record<string, (line: Line) => Line>> = {
    another: (line) => ({ ...line, event: String(line.event).replace('"at":', '"at":1') }),
    'not canonical': (line) => ({ ...line, event: `${line.event} ` }),
    'a proof too short': (line) => ({ ...line, proof: (line.proof as string[]).slice(1) }),
  };
  const questions = Object.values(changes).map((change) => ({
    export: written(ended(changed(lines, at, change))),
    pubs: [signers(1).verifier.text],
    against: [],
  }));
  for (const { findings } of judged(questions)) expect(findings.map((each) => each.class)).toEqual(['altered']);
});

test.skipIf(!hasPython)(
  'what is no export, or holds nothing to compare it with, is not called tampered with',
  async () => {
    const store = await allSigned();
    const file = written((await exported(store.log)).join(''));
    const { text } = signers(1).verifier;
    const cases: [string[], RegExp][] = [
      [[written('')], /is not an export of an audit log: it is empty\n$/],
      [[written('nonsense\n')], /is not an export of an audit log: its first line is not the manifest/],
      [[written('{"type":"manifest","format":"weir-audit-export/2"}\n')], /its first line is not the manifest/],
      [[join(folder, 'none')], /No such file/],
      [[file, '--against', written('')], /holds no signed checkpoint\n$/],
      [[written(readFileSync(file).subarray(0, -30))], /it breaks off before its last line/],
      [[written(readFileSync(file, 'utf8').split('\n').slice(0, 3).join('\n'))], /it breaks off before its last line/],
    ];
    for (const [args, sentence] of cases) {
      const { status, stdout, stderr } = asked(program, ...args);
      expect([status, stdout, stderr]).toEqual([3, '', expect.stringMatching(sentence)]);
    }
    const wrong: [string, RegExp][] = [
      ['nonsense', /'nonsense' is neither a verifier key \(name\+hash\+key\) nor a file of them/],
      [written(''), /holds none/],
    ];
    for (const [pub, sentence] of wrong) {
      const { status, stdout, stderr } = asked(program, file, '--pub', pub);
      expect([status, stdout, stderr]).toEqual([64, '', expect.stringMatching(sentence)]);
    }
    expect(asked(program, file, '--pbu', text)).toMatchObject({ status: 64, stdout: '' });
  },
);

test.skipIf(!hasPython)(
  'a finding is a sentence, and one for all checkpoints that another key has signed',
  async () => {
    const store = await allSigned();
    const lines = (await exported(store.log)).slice(0, -1);
    const by = signersOf('another')(1);
    const others = notesOf(store.log).map(({ note }) => signed(note.text, by));
    const anothers = others.map((note) => signed(note.replace(/\n\n[\s\S]*/, '\n').replace(/^.*/, 'weir/another'), by));
    const kept = textOf(store.log);
    const [broken, stranger, elsewhere, both] = judged(
      [
        { text: ended(changed(lines, 2, ({ proof: _, ...line }) => line)), kept },
        { text: ended(lines), kept: others.join('') },
        { text: ended(lines), kept: anothers.join('') },
        { text: ended(lines), kept: anothers.join('') + kept },
      ].map((each) => ({
        export: written(each.text),
        pubs: [signers(1).verifier.text],
        against: [written(each.kept)],
      })),
    );
    expect(broken!.findings.map(({ detail }) => detail).join('\n')).not.toMatch(/Error/);
    expect(stranger).toMatchObject({
      status: 1,
      findings: [
        { class: 'signature', detail: expect.stringMatching(/^is not signed .*, and so it is with \d+ more$/) },
      ],
    });
    expect(both).toMatchObject({
      status: 0,
      remarks: [expect.stringMatching(/^\d+ of the checkpoints .* do not count$/)],
    });
    expect(elsewhere).toMatchObject({ status: 2, findings: [], lacking: [expect.stringContaining('of another log')] });
  },
);
