import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { binaryEvent, type EventStoreDBClient, jsonEvent, type ResolvedEvent } from '@eventstore/db-client';
import { complain, type Figures, noFigures, type Plan } from './figures.ts';
import { type Random, seeded } from './random.ts';
import { DidNotStart, Scene } from './scene.ts';

const PAGE = 4096;
const HUNG_MS = 15_000;

/** How the file is damaged; the answer says where. */
type Damage = (file: Buffer, older: Buffer, random: Random) => { readonly bytes: Buffer; readonly where: string };

const pageOf = (file: Buffer, random: Random): number => random.between(2, file.length / PAGE - 1);

const damages: Readonly<Record<string, Damage>> = {
  'flipped bit': (file, _, random) => {
    const bytes = Buffer.from(file);
    const at = random.between(0, file.length - 1);
    bytes[at]! ^= 1 << random.between(0, 7);
    return { bytes, where: `byte ${at}` };
  },
  'zeroed page': (file, _, random) => {
    const page = pageOf(file, random);
    return { bytes: Buffer.from(file).fill(0, page * PAGE, (page + 1) * PAGE), where: `page ${page}` };
  },
  'swapped pages': (file, _, random) => {
    const [a, b] = [pageOf(file, random), pageOf(file, random)];
    const bytes = Buffer.from(file);
    file.copy(bytes, a * PAGE, b * PAGE, (b + 1) * PAGE);
    file.copy(bytes, b * PAGE, a * PAGE, (a + 1) * PAGE);
    return { bytes, where: `pages ${a} and ${b}` };
  },
  truncation: (file, _, random) => {
    const length = random.between(1, file.length - 1);
    return { bytes: Buffer.from(file.subarray(0, length)), where: `at ${length}` };
  },
  'stale page': (file, older, random) => {
    const page = random.between(2, older.length / PAGE - 1);
    const bytes = Buffer.from(file);
    older.copy(bytes, page * PAGE, page * PAGE, (page + 1) * PAGE);
    return { bytes, where: `page ${page}` };
  },
  'damaged meta page': (file, older, random) => {
    const bytes = Buffer.from(file);
    const start = random.between(0, 1) * PAGE;
    const kind = random.between(0, 3);
    const at = start + random.between(0, 199);
    if (kind === 0) bytes.fill(0, start, start + PAGE);
    else if (kind === 1) bytes[at]! ^= 1 << random.between(0, 7);
    else if (kind === 2) bytes.fill(random.between(1, 255), at, start + 200);
    else older.copy(bytes, start, start, start + PAGE);
    return { bytes, where: `byte ${at}, kind ${kind}` };
  },
};

/** What a reading of the sound file gave, and every other reading is compared with. */
type Readings = ReadonlyMap<string, readonly string[]>;

const shown = ({ event, link }: ResolvedEvent): string => {
  const one = (e: NonNullable<ResolvedEvent['event']>) =>
    [e.streamId, e.revision, e.id, e.type, e.created.getTime(), JSON.stringify(e.data), JSON.stringify(e.metadata)].join(' ');
  return `${event ? one(event) : '-'} ${link ? one(link) : '-'}`;
};

const names = Array.from({ length: 40 }, (_, i) => `kept-${i}`);
/** A reading that ends early, rightly: the stream is not there any more. */
const LEGAL_ENDS = ['stream-not-found', 'stream-deleted'];

/** Every way of reading, with its name. */
function readers(client: EventStoreDBClient): [string, () => AsyncIterable<ResolvedEvent>][] {
  const backwards = { direction: 'backwards' } as const;
  return [
    ['$all', () => client.readAll()],
    ['$all backwards', () => client.readAll({ ...backwards, fromPosition: 'end' })],
    ...[...names, 'links-1', '$$kept-1', '$$kept-2'].flatMap(
      (name): [string, () => AsyncIterable<ResolvedEvent>][] => [
        [name, () => client.readStream(name, { resolveLinkTos: true })],
        [`${name} backwards`, () => client.readStream(name, { ...backwards, fromRevision: 'end' })],
      ],
    ),
  ];
}

async function write(client: EventStoreDBClient, random: Random, from: number, to: number): Promise<void> {
  for (let i = from; i < to; i++) {
    const events = Array.from({ length: random.between(1, 3) }, (_, k) =>
      jsonEvent({ type: 'kept', data: { i, k, fill: 'f'.repeat(random.between(0, random.next() < 0.03 ? 9000 : 400)) } }),
    );
    await client.appendToStream(random.pick(names), events);
  }
}

/** A store with something of everything, and its data file as it was earlier. */
async function prepare(scene: Scene, random: Random): Promise<{ file: Buffer; older: Buffer; truth: Readings }> {
  const dir = scene.dir();
  let store = await scene.start(dir);
  let client = scene.connect(store.endpoint);
  await write(client, random, 0, 150);
  await client.appendToStream('links-1', ['0@kept-3', '1@kept-4', '0@kept-5'].map((to) => binaryEvent({ type: '$>', data: Buffer.from(to) })));
  await store.stop();
  const older = readFileSync(join(dir, 'events.mdb'));
  store = await scene.start(dir);
  client = scene.connect(store.endpoint);
  await write(client, random, 150, 260);
  await client.setStreamMetadata('kept-1', { maxCount: 3 });
  await client.deleteStream('kept-2');
  await client.tombstoneStream('kept-3');
  await write(client, random, 260, 300).catch(() => {});
  const truth = new Map<string, string[]>();
  for (const [name, read] of readers(client)) {
    const events: string[] = [];
    try {
      for await (const resolved of read()) events.push(shown(resolved));
    } catch (error) {
      if (!LEGAL_ENDS.includes((error as { type: string }).type)) throw error;
      events.push((error as { type: string }).type);
    }
    truth.set(name, events);
  }
  await store.stop();
  return { file: readFileSync(join(dir, 'events.mdb')), older, truth };
}

/**
 * D6: damages the data file in many ways and reads everything through a server over it. Each reading gives what is true or
 * ends in an error; never anything else, and the server never dies of it. `count` is the number of seeds. The canary does
 * not compare checksums.
 */
export async function torturedByDamage({ count, seed, canary = false }: Plan): Promise<Figures> {
  const figures = noFigures(seed);
  const scene = new Scene();
  const seen = { refused: 0, noticed: 0, harmless: 0 };
  try {
    const { file, older, truth } = await prepare(scene, seeded(seed));
    const kinds = Object.keys(damages);
    for (let i = 0; i < count; i++, figures.cycles++) {
      const random = seeded(seed * 100_000 + i);
      const kind = canary ? 'flipped bit' : kinds[i % kinds.length]!;
      const { bytes, where } = damages[kind]!(file, older, random);
      const inner = new Scene();
      try {
        const dir = join(inner.dir(), 'store');
        mkdirSync(dir);
        writeFileSync(join(dir, 'events.mdb'), bytes);
        // Half of them look as if the store had not been closed, which has another process try first.
        const stale = '{"pid":999999999,"started":"gone","endpoint":null,"won":true}';
        if (random.next() < 0.5) writeFileSync(join(dir, 'lock.999999999.0123456789abcdef'), stale);
        const verdict = await judge(inner, dir, truth, canary);
        if (verdict in seen) seen[verdict as keyof typeof seen]++;
        else {
          figures.lost++;
          complain(figures, `seed ${i}, ${kind} ${where}: ${verdict}`);
          if (process.env.TORTURE_KEEP) copyFileSync(join(dir, 'events.mdb'), `${process.env.TORTURE_KEEP}/${i}.mdb`);
        }
      } finally {
        await inner.end();
      }
    }
  } finally {
    await scene.end();
  }
  figures.notes.push(`${seen.refused} refused, ${seen.noticed} noticed, ${seen.harmless} harmless`);
  return figures;
}

/** `refused` at the start, `noticed` while reading, `harmless`, or a sentence about what was silently wrong. */
async function judge(scene: Scene, dir: string, truth: Readings, canary: boolean): Promise<string> {
  const settings = canary ? { faults: { skipChecksums: true } } : { embedded: true };
  let store: Awaited<ReturnType<Scene['start']>>;
  try {
    store = await scene.start(dir, { settings });
  } catch (error) {
    if (!(error instanceof DidNotStart)) throw error;
    if (canary) return 'refused';
    return error.signal === null ? 'refused' : `the server died at its start of ${error.signal}`;
  }
  const client = scene.connect(store.endpoint);
  let isNoticed = false;
  const wrong: string[] = [];
  const reading = (async () => {
    for (const [name, read] of readers(client)) {
      const events: string[] = [];
      const wanted = truth.get(name)!;
      let hasEnded = true;
      try {
        for await (const resolved of read()) events.push(shown(resolved));
      } catch (error) {
        const { type } = error as { type: string };
        if (LEGAL_ENDS.includes(type)) events.push(type);
        else {
          hasEnded = false;
          isNoticed = true;
        }
      }
      const place = events.findIndex((event, i) => event !== wanted[i]);
      if (place >= 0) wrong.push(`${name}: place ${place} is ${events[place]!.slice(0, 60)}, not ${wanted[place]?.slice(0, 60)}`);
      else if (hasEnded && events.length < wanted.length) wrong.push(`${name}: ${events.length} of ${wanted.length} events and no error`);
    }
  })();
  const timer = { stop: () => {} };
  const hung = new Promise<string>((resolve) => {
    const handle = setTimeout(() => resolve('a reading hangs'), HUNG_MS);
    timer.stop = () => clearTimeout(handle);
  });
  const outcome = await Promise.race([reading.then(() => 'read'), hung]);
  timer.stop();
  const { exitCode, signalCode } = store.process;
  if (signalCode !== null) return `the server died of ${signalCode}`;
  if (wrong.length > 0) return wrong[0]!;
  if (exitCode !== null) return 'noticed';
  if (outcome !== 'read') return outcome;
  return isNoticed ? 'noticed' : 'harmless';
}
