import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { complain, type Figures, type Plan, skip } from './figures.ts';
import { inStore, startGateway } from './gateway.ts';
import { seeded } from './random.ts';
import { Scene } from './scene.ts';

/** What the memory of the gateway may grow by, whatever the number of connections. */
const allowedBytes = 32 * 1024 * 1024;
/** From one request of a connection to the next: one beside it would end the connection for another reason. */
const paceMs = 5;
/** Requests whose answers are read, before the others. */
const warming = 200;
/** So often at least each client is cut off; one that never is goes on until the memory has grown. */
const cutsEach = 2;
/** Longest wait for the answer to somebody who reads, when the others have gone. */
const answerMs = 30_000;
/** In the long form, so long at least. */
const longMs = 60_000;

const careless = fileURLToPath(new URL('careless-answers.mjs', import.meta.url));
const large = '/v1/openapi.json';
const kinds = [`GET ${large}`, 'HEAD /v1/health', 'POST /v1/health'];

const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;

/** Writes one request over and over on one connection after another, and never reads. */
class Deaf {
  sent = 0;
  cuts = 0;
  private readonly text: string;
  private readonly port: number;

  constructor(port: number, line: string) {
    this.port = port;
    this.text = `${line} HTTP/1.1\r\nHost: a\r\n\r\n`;
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const socket = connect(this.port, '127.0.0.1');
      socket.on('error', () => {});
      while (!isOver() && !socket.destroyed) {
        this.sent++;
        socket.write(this.text);
        await wait(paceMs);
      }
      if (socket.destroyed) this.cuts++;
      socket.destroy();
    }
  }
}

/** Asks as much, and reads all answers. */
const warm = async (baseUrl: string): Promise<void> => {
  for (let i = 0; i < warming; i++) await (await fetch(`${baseUrl}${large}`)).arrayBuffer();
};

/**
 * The gateway answers those who read. On a busy machine their connection may be reset like those of the others; they come
 * again, as the SDKs do, and each loss is noted.
 */
const expectAnswer = async (url: string, figures: Figures): Promise<void> => {
  const lost: string[] = [];
  for (const end = performance.now() + answerMs; performance.now() < end; await wait(100)) {
    try {
      const { status } = await fetch(url, { signal: AbortSignal.timeout(answerMs) });
      if (status !== 200) complain(figures, `the gateway answers those who read with ${status}`);
      if (lost.length > 0) figures.notes.push(`a reader was not answered before it asked again: ${lost.join(', ')}`);
      return;
    } catch (error) {
      const { cause, name } = error as Error & { cause?: NodeJS.ErrnoException };
      lost.push(cause?.code ?? name);
    }
  }
  complain(figures, `the gateway does not answer those who read: ${lost.at(-1)}, ${lost.length} times`);
};

/**
 * H5: connections that send requests without a key, one behind the other, and read no answer. The gateway may hold a little
 * for each of them and has to let go of the rest. `count` is the number of connections. The canary's gateway keeps every large
 * answer.
 */
export async function torturedByDeafReaders({ count, seed, canary, store }: Plan, figures: Figures): Promise<void> {
  if (process.platform !== 'linux') return skip(figures, 'the memory of a process is read from /proc');
  const random = seeded(seed);
  const scene = new Scene();
  try {
    const env: Record<string, string> = canary ? { NODE_OPTIONS: `--import=${careless}` } : { ...inStore(store) };
    const gateway = await startGateway(scene, join(scene.dir(), 'data'), env);
    const port = Number(new URL(gateway.baseUrl).port);
    gateway.onEnd((words) => complain(figures, `the gateway has ended: ${words}`));
    // What the first requests make it load and compile, and what V8 takes for garbage when there is much, is no growth.
    await warm(gateway.baseUrl);
    const before = residentBytes(gateway.pid);
    let most = before;
    const clients = Array.from({ length: count }, () => new Deaf(port, canary ? kinds[0]! : random.pick(kinds)));
    const began = performance.now();
    const isOver = (): boolean => {
      most = Math.max(most, residentBytes(gateway.pid));
      // A busy gateway cuts them for a request that comes before the answer, which says nothing about the canary.
      const isLongEnough = !canary && (count < 100 || performance.now() - began >= longMs);
      return most - before > allowedBytes || (isLongEnough && clients.every(({ cuts }) => cuts >= cutsEach));
    };
    let isOverNow = false;
    const watching = setInterval(() => {
      isOverNow ||= isOver();
    }, 20);
    scene.later(() => clearInterval(watching));
    await Promise.all(clients.map((each) => each.run(() => isOverNow)));
    figures.cycles = count;
    figures.acknowledged = clients.reduce((sum, each) => sum + each.sent, 0);
    const grown = Math.round((most - before) / 1024 / 1024);
    if (most - before > allowedBytes) complain(figures, `the gateway has grown by ${grown} MiB`);
    if (!canary) await expectAnswer(`${gateway.baseUrl}/v1/health`, figures);
    const cuts = clients.reduce((sum, each) => sum + each.cuts, 0);
    figures.notes.push(`${cuts} connections cut; the memory has grown by ${Math.max(0, grown)} MiB at most`);
  } finally {
    await scene.end();
  }
}
