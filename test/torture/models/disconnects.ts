import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { complain, type Figures, type Plan, percentile } from '../figures.ts';
import { type Random, seeded } from '../random.ts';
import { Scene } from '../scene.ts';
import { type Arrival, provider } from './provider.ts';
import { chunk, closing, delta, lastChunk, opening, streamHead, wholeAnswer } from './recorded.ts';
import { accountsOf, at, bodyOf, type Site, startSite } from './site.ts';

const keeps = fileURLToPath(new URL('keeps-upstream.mjs', import.meta.url));
/** Clients at once. */
const width = 64;
/** The provider has to notice within so long, in all cases but this share (G2). */
const [noticeMs, missedShare] = [1_000, 0.001];
const tokenMs = 5;
const tokens = 400;
/** The longest that a client waits until it leaves. */
const patienceMs = 150;
/** One that has not come to the provider by then does not come. */
const lostMs = 10_000;

/** Of one request, milliseconds of one clock. */
interface Fate {
  arrivedAt?: number;
  /** Tells who waits for it that the provider has it. */
  arrived?: () => void;
  finishedAt?: number;
  goneAt?: number;
  leftAt?: number;
  requestId?: string;
}

/** Answers slowly: a stream of two seconds, or a message after half a one at most. */
const answerSlowly = ({ n, isStream, socket }: Arrival, fate: Fate, random: Random): void => {
  const finish = (): void => {
    fate.finishedAt = performance.now();
  };
  let sent = 0;
  const next = (): void => {
    if (socket.destroyed) return;
    if (!isStream) {
      socket.write(wholeAnswer(n, false), finish);
      return;
    }
    if (sent === 0) socket.write(streamHead + chunk(opening(n)));
    sent += 1;
    if (sent > tokens) {
      socket.write(chunk(closing) + lastChunk, finish);
      return;
    }
    socket.write(chunk(delta('word ')));
    timer = setTimeout(next, tokenMs);
  };
  let timer = setTimeout(next, random.between(0, isStream ? 60 : 500));
  socket.once('close', () => {
    clearTimeout(timer);
    fate.goneAt = performance.now();
  });
};

/** Sends a request and leaves, whatever has come until then. */
const leave = async ({ port, key }: Site, n: number, fate: Fate, random: Random): Promise<void> => {
  const body = bodyOf(n, random.next() < 0.7, 'slow');
  const head = [
    'POST /v1/messages HTTP/1.1',
    'Host: a',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ].join('\r\n');
  const arrived = new Promise<void>((resolve) => {
    fate.arrived = resolve;
  });
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.resume();
  socket.write(`${head}\r\n\r\n${body}`);
  // Half of them leave at any moment, the others when the provider has it: on a machine that is busy few would come so far.
  if (random.next() < 0.5) await Promise.race([arrived, wait(lostMs, undefined, { ref: false })]);
  await wait(random.between(0, patienceMs));
  fate.leftAt = performance.now();
  if (random.next() < 0.5) socket.resetAndDestroy();
  else socket.destroy();
  await closed;
};

/**
 * G2: clients that leave at any moment of a message, streamed or not. The provider's connection is closed within a second, and
 * each request that has reached it is settled once. The canary's gateway keeps the connection.
 */
export async function torturedByDisconnects({ count, seed, from = 0, canary }: Plan, figures: Figures): Promise<void> {
  const scene = new Scene();
  try {
    const fates = new Map<number, Fate>();
    const fateOf = (n: number): Fate => {
      const known = fates.get(n) ?? {};
      fates.set(n, known);
      return known;
    };
    const { url, port } = await provider(scene, (arrival) => {
      const fate = fateOf(arrival.n);
      fate.arrivedAt = arrival.at;
      fate.requestId = arrival.requestId;
      fate.arrived?.();
      answerSlowly(arrival, fate, seeded(seed, arrival.n));
    });
    const kept = canary ? { NODE_OPTIONS: `--import=${keeps}`, KEPT_PORT: `${port}` } : {};
    const site = await startSite(scene, { slow: { upstream: at(url) } }, kept);
    site.onEnd((words) => complain(figures, `the gateway has ended: ${words}`));
    let next = from;
    const worker = async (): Promise<void> => {
      while (next < from + count) {
        scene.goOn();
        const n = next++;
        await leave(site, n, fateOf(n), seeded(seed ^ 0x1eaf, n));
        figures.cycles++;
      }
    };
    await Promise.all(Array.from({ length: width }, worker));
    // A stream that nobody ends takes two seconds.
    await wait(noticeMs + tokens * tokenMs);
    const missed: string[] = [];
    const noticed: number[] = [];
    for (const [n, { arrivedAt, finishedAt, goneAt = Number.POSITIVE_INFINITY, leftAt = 0 }] of fates) {
      if (arrivedAt === undefined) continue;
      figures.acknowledged++;
      const since = Math.max(leftAt, arrivedAt);
      if (finishedAt !== undefined && finishedAt <= since) continue;
      const after = Math.min(goneAt, finishedAt ?? goneAt) - since;
      noticed.push(after);
      if (after > noticeMs || arrivedAt - leftAt > noticeMs)
        missed.push(`request ${n}: the provider noticed ${Math.round(after)} ms after its client had left`);
    }
    if (missed.length > Math.floor(noticed.length * missedShare)) for (const each of missed) complain(figures, each);
    if (noticed.length < count / 50)
      complain(figures, `only ${noticed.length} requests were left while they were under way`);
    const settled = new Map<string, number>();
    for (const { request_id: id } of await accountsOf(site)) settled.set(id, (settled.get(id) ?? 0) + 1);
    for (const [n, { requestId }] of fates) {
      if (requestId === undefined) continue;
      const times = settled.get(requestId) ?? 0;
      if (times === 0) figures.lost++;
      if (times > 1) figures.doubled++;
      if (times !== 1) complain(figures, `request ${n} is settled ${times} times`);
    }
    figures.notes.push(
      `${noticed.length} left under way; the provider noticed after ${Math.round(percentile(noticed, 0.5))} ms, p99.9 ${Math.round(percentile(noticed, 0.999))} ms`,
    );
  } finally {
    await scene.end();
  }
}
