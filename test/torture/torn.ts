import { spawnSync } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { place } from './corruption.ts';
import { count as add, complain, type Figures, type Plan, skip } from './figures.ts';
import { type Found, History, type Operation, type Sent } from './oracle.ts';
import { type Random, seeded } from './random.ts';
import { type Outcome, readEach } from './read-each.ts';
import { build, compile, noCompiler, Scene } from './scene.ts';
import { entries, image, type Write } from './write-log.ts';

const SECTOR = 512;
const APPENDS = 60;
/** Of one recording: the more of them, the more different commits are torn. */
const IMAGES_PER_LIFE = 1000;
const AT_ONCE = 200;
const writerFile = fileURLToPath(new URL('./torn-writer.mjs', import.meta.url));

type Mark =
  | { is: 'asked'; op: number; stream: string; expected: number; events: Sent[] }
  | { is: 'answered'; op: number; revision: number; position: string };

/** What was known at one moment: the first so many marks. */
function historyOf(marks: readonly Mark[]): History {
  const history = new History();
  const operations = new Map<number, Operation>();
  for (const mark of marks) {
    if (mark.is === 'answered') history.ok(operations.get(mark.op)!, BigInt(mark.revision), BigInt(mark.position));
    else
      operations.set(
        mark.op,
        history.ask(mark.stream, mark.expected < 0 ? 'no_stream' : BigInt(mark.expected), mark.events),
      );
  }
  return history;
}

/** A random part of the writes, one of them perhaps cut between two sectors. */
function someOf(pending: readonly Write[], random: Random): Write[] {
  const some = pending.filter(() => random.next() < 0.5);
  const torn = random.next() < 0.5 ? random.between(0, some.length - 1) : -1;
  return some.map((write, i) => {
    const sectors = Math.floor(write.bytes.length / SECTOR);
    return i === torn && sectors > 1
      ? { ...write, bytes: write.bytes.subarray(0, SECTOR * random.between(1, sectors - 1)) }
      : write;
  });
}

/** The disk as it may be found, and what had been said by then. */
interface Image {
  readonly name: string;
  readonly bytes: Buffer;
  readonly marks: readonly Mark[];
  readonly isUnclean: boolean;
}

/**
 * D7: replays the log of a store's writes. Whatever was written since the last fdatasync may be on the disk or not, in any
 * combination; each such image has to open and to pass the oracle as it stood at that moment. `count` is the number of
 * images. The canary commits without fdatasync.
 */
export async function torturedByTornCommits({ count, seed, from = 0, canary }: Plan, figures: Figures): Promise<void> {
  if (noCompiler !== undefined) return skip(figures, `torn commits: ${noCompiler}`);
  const end = from + count;
  for (let cycle = from - (from % IMAGES_PER_LIFE); cycle < end; cycle += IMAGES_PER_LIFE) {
    const scene = new Scene();
    try {
      const log = record(scene, canary === true);
      figures.acknowledged += APPENDS;
      const wanted = Math.min(IMAGES_PER_LIFE, end - cycle);
      const waiting: Image[] = [];
      for (const one of images(log, cycle, wanted, seeded(seed, cycle))) {
        waiting.push(one);
        if (waiting.length === AT_ONCE) await judge(waiting.splice(0), figures);
      }
      await judge(waiting, figures);
    } finally {
      await scene.end();
    }
  }
}

/** As many images as wanted, spread evenly over all that was written since the first append was asked for. */
function* images(log: Buffer, first: number, wanted: number, random: Random): Generator<Image> {
  const all = [...entries(log)];
  const started = all.findIndex(({ is }) => is === 'mark');
  const marks: Mark[] = [];
  let certain: Buffer = Buffer.alloc(0);
  let pending: Write[] = [];
  let made = 0;
  for (const [i, entry] of all.entries()) {
    if (entry.is === 'mark') {
      for (const line of entry.text.trim().split('\n')) marks.push(JSON.parse(line) as Mark);
    } else if (entry.is === 'sync') {
      certain = image(certain, pending);
      pending = [];
    } else if (entry.is === 'truncate') certain = image(certain, []).subarray(0, entry.size);
    else pending.push(entry);
    const due = i < started ? 0 : Math.round((wanted * (i - started + 1)) / (all.length - started));
    for (; made < due; made++) {
      const some = random.next() < 0.2 ? pending : someOf(pending, random);
      yield {
        name: `cycle ${first + made} (at call ${i}, ${some.length} of ${pending.length} writes)`,
        bytes: image(certain, some),
        marks: marks.slice(),
        isUnclean: random.next() < 0.1,
      };
    }
    if (entry.is === 'write' && entry.through) {
      certain = image(certain, [entry]);
      pending = pending.filter((write) => write !== entry);
    }
  }
}

/** Lets a store write, and returns the log of what it wrote. */
function record(scene: Scene, canary: boolean): Buffer {
  const dir = realpathSync(scene.dir());
  const notes = scene.dir();
  const log = join(notes, 'log');
  const settings = canary ? { faults: { noSync: true } } : {};
  const { status, stderr } = spawnSync(
    process.execPath,
    [writerFile, dir, join(notes, 'x.marks'), String(APPENDS), JSON.stringify(settings)],
    {
      encoding: 'utf8',
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        EMBEDDED_BUILD: build,
        LD_PRELOAD: compile('shims/write-log.c', notes),
        WRITE_LOG_OF: join(dir, 'events.mdb'),
        WRITE_LOG: log,
      },
    },
  );
  if (status !== 0) throw new Error(`nothing was recorded: ${stderr}`);
  return readFileSync(log);
}

async function judge(some: readonly Image[], figures: Figures): Promise<void> {
  const scene = new Scene();
  try {
    const base = scene.dir();
    const tasks = some.map(({ bytes, isUnclean }, i) => ({
      dir: place(join(base, `${i}`), bytes, isUnclean ? 'killed' : 'unknown'),
      streams: [],
    }));
    const outcomes = await readEach(tasks);
    for (const [i, { name, marks }] of some.entries()) {
      const history = historyOf(marks);
      const outcome = outcomes[i]!;
      const found = foundIn(outcome);
      if (found !== undefined) add(figures, history.check(found), name);
      else {
        figures.lost += history.acknowledged;
        complain(figures, `${name}: ${JSON.stringify(outcome).slice(0, 300)}`);
      }
      figures.cycles++;
    }
  } finally {
    await scene.end();
  }
}

/** The whole log, where it could be read to its end. */
function foundIn(outcome: Outcome): Found[] | undefined {
  if (!('reads' in outcome) || outcome.reads.forwards!.error !== undefined) return undefined;
  return outcome.reads.forwards!.events.map(({ event }) => {
    const { position, revision, ...rest } = event!;
    return { ...rest, position: BigInt(position), revision: BigInt(revision) };
  });
}
