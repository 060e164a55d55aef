import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { jsonEvent } from '@eventstore/db-client';
import { complain, type Figures, type Plan, skip } from './figures.ts';
import { has, Scene } from './scene.ts';

/** A frame that carries no answer: a ping, an acknowledged setting, a window update. Bytes. */
const CONTROL_FRAME = 17;
const strace = ['strace', '-D', '-f', '--seccomp-bpf'] as const;

/**
 * D3: one append at a time under strace. When an answer leaves by the socket, every page written to the data file since the
 * last answer must have been followed by an fdatasync that had returned. `count` is the number of appends. The canary
 * commits without fdatasync. That every kind of write waits for a slow fdatasync is in ../embedded/durability.test.ts.
 */
export async function torturedByTracing({ count, canary }: Plan, figures: Figures): Promise<void> {
  if (!has(...strace, '-o', '/dev/null', 'true'))
    return skip(figures, 'the order of fdatasync and answers: there is no strace, or it may not trace');
  const scene = new Scene();
  try {
    const trace = join(scene.dir(), 'trace');
    const calls = 'openat,pwrite64,pwritev,write,writev,sendto,sendmsg,fdatasync,fsync';
    const settings = canary ? { faults: { noSync: true } } : {};
    const under = [...strace, '-y', '-s', '0', '-e', `trace=${calls}`, '-o', trace];
    const store = await scene.start(scene.dir(), { settings, under });
    const client = scene.connect(store.endpoint);
    const classic = { credentials: { username: 'a', password: 'b' } };
    for (let i = 0; i < count; i++, figures.cycles++) {
      const event = jsonEvent({ type: 'traced', data: { i, fill: 'x'.repeat((i * 37) % 3000) } });
      await client.appendToStream(`traced-${i % 7}`, event, i % 5 === 4 ? classic : {});
      figures.acknowledged++;
    }
    await client.setStreamMetadata('traced-0', { maxCount: 3 });
    await client.deleteStream('traced-1');
    await client.tombstoneStream('traced-2');
    figures.acknowledged += 3;
    await store.kill();
    const lines = await wholeTrace(trace);
    judge(lines, figures);
  } finally {
    await scene.end();
  }
}

/** strace writes its last lines after the process has gone. */
async function wholeTrace(path: string): Promise<string[]> {
  for (let tries = 0; tries < 100; tries++) {
    const text = readFileSync(path, 'utf8');
    if (/\+\+\+ killed by SIGKILL \+\+\+/.test(text)) return text.split('\n');
    await wait(50);
  }
  throw new Error('the trace does not end');
}

interface Traced {
  readonly call: string;
  readonly target: string;
  readonly descriptor: string;
  readonly result: number;
  readonly text: string;
}

/** Calls in the order in which they returned; those cut in two by another thread's are put together. */
function* returned(lines: readonly string[]): Generator<Traced> {
  const begun = new Map<string, string>();
  for (const line of lines) {
    const thread = /^(\d+) +/.exec(line);
    if (thread === null) continue;
    let text = line.slice(thread[0].length);
    const resumed = /^<\.\.\. \w+ resumed>/.exec(text);
    if (resumed) text = (begun.get(thread[1]!) ?? '') + text.slice(resumed[0].length);
    if (text.includes('<unfinished ...>')) {
      begun.set(thread[1]!, text.slice(0, text.indexOf('<unfinished ...>')));
      continue;
    }
    const call = /^(\w+)\((?:(\d+)<([^>]*)>)?.*\) += (-?\d+)/.exec(text);
    if (call) yield { call: call[1]!, descriptor: call[2] ?? '', target: call[3] ?? '', result: Number(call[4]), text };
  }
}

function judge(lines: readonly string[], figures: Figures): void {
  /** Descriptors whose writes are on the disk when they return: LMDB writes its meta pages by one. */
  const synchronous = new Set<string>();
  let unsynced = 0;
  let syncs = 0;
  let answers = 0;
  for (const { call, target, descriptor, result, text } of returned(lines)) {
    const isData = target.endsWith('/events.mdb');
    if (call === 'openat' && text.includes('/events.mdb"') && text.includes('O_DSYNC')) synchronous.add(String(result));
    else if (call.startsWith('f') && isData) {
      syncs++;
      unsynced = 0;
    } else if (isData && !synchronous.has(descriptor)) unsynced++;
    else if (/^(UNIX|socket)/.test(target) && result > CONTROL_FRAME) {
      answers++;
      if (unsynced === 0) continue;
      figures.lost++;
      complain(figures, `an answer left with ${unsynced} writes not on the disk`);
    }
  }
  figures.notes.push(`${syncs} fdatasync, ${answers} writes to sockets`);
  // Each append had an fdatasync of its own, or some were answered without any.
  if (syncs < figures.acknowledged) complain(figures, `${figures.acknowledged} appends and ${syncs} fdatasync`);
}
