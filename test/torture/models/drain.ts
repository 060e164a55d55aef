import { once } from 'node:events';
import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { complain, type Figures, type Plan, percentile } from '../figures.ts';
import { seeded } from '../random.ts';
import { Scene } from '../scene.ts';
import { ask, eventsIn } from './asking.ts';
import { type Arrival, provider } from './provider.ts';
import { chunk, closing, delta, lastChunk, opening, streamHead, wholeAnswer } from './recorded.ts';
import { at, bodyOf, startSite } from './site.ts';

const streams = 16;
/** Clients that ask one thing after another on a connection that they keep. */
const keepers = 4;
/** The longest stream, of one cycle in ten and of the others. */
const [longMs, shortMs] = [25_000, 2_000];
const tokens = 20;
const exitMs = 30_000;
/** The second SIGTERM ends it at once. */
const forcedMs = 1_000;
/** In so many cycles there is one. */
const forcedOf = 5;

/** @param ms how long the stream takes */
const streamFor = ({ n, socket }: Arrival, ms: number): void => {
  socket.write(streamHead + chunk(opening(n)));
  let sent = 0;
  const timer = setInterval(() => {
    sent += 1;
    if (sent <= tokens) {
      socket.write(chunk(delta(`${sent} `)));
      return;
    }
    clearInterval(timer);
    socket.write(chunk(closing) + lastChunk);
  }, ms / tokens);
  socket.once('close', () => clearInterval(timer));
};

/**
 * G12: SIGTERM under load. Streams under way, of up to 25 seconds, come to their end, no answer that has begun is cut, and the
 * process ends with 0 within 30 seconds; a second SIGTERM ends it within one. The canary's gateway waits for nobody.
 */
export async function torturedByDrains({ count, seed, from = 0, canary }: Plan, figures: Figures): Promise<void> {
  const scene = new Scene();
  try {
    let durations: (n: number) => number = () => 0;
    const { url } = await provider(scene, (arrival) => {
      if (arrival.isStream) streamFor(arrival, durations(arrival.n));
      else arrival.socket.write(wholeAnswer(arrival.n, false));
    });
    const dir = scene.dir();
    const endings: number[] = [];
    const forced: number[] = [];
    for (let cycle = from; cycle < from + count; cycle++, figures.cycles++) {
      scene.goOn();
      const random = seeded(seed, cycle);
      const most = cycle % 10 === 8 ? longMs : shortMs;
      durations = (n) => seeded(seed + n, cycle).between(0, most);
      const drain = canary ? { DRAIN_MS: '0' } : {};
      const site = await startSite(scene, { steady: { upstream: at(url) } }, drain, dir);
      const isForced = cycle % forcedOf === forcedOf - 1;
      let isEnding = false;
      const agent = new Agent({ keepAlive: true });
      const stream = async (n: number): Promise<void> => {
        const heard = await ask(site, bodyOf(n, true, 'steady'));
        const isWhole = heard.isWhole && eventsIn(heard.text).at(-1)?.type === 'message_stop';
        // One that came too late to begin has been told so.
        const isRefused = isEnding && heard.isWhole && heard.status === 503;
        if (isWhole) figures.acknowledged++;
        else if (!isForced && !isRefused)
          complain(figures, `cycle ${cycle}: a stream of ${durations(n)} ms was cut: ${heard.text.slice(-100)}`);
      };
      const keep = async (n: number): Promise<void> => {
        for (;;) {
          const { status, isWhole } = await ask(site, bodyOf(n, false, 'steady'), agent);
          if (isEnding && (status === 0 || status === 503)) return;
          if (!isWhole && !isForced) complain(figures, `cycle ${cycle}: an answer with status ${status} was cut`);
          if (!isWhole) return;
          figures.acknowledged++;
        }
      };
      const clients = [
        ...Array.from({ length: streams }, (_, i) => stream(cycle * 100 + i)),
        ...Array.from({ length: keepers }, (_, i) => keep(cycle * 100 + 50 + i)),
      ];
      await wait(random.between(200, 700));
      isEnding = true;
      const began = performance.now();
      const ended = once(site.child, 'exit') as Promise<[code: number | null, signal: string | null]>;
      process.kill(site.pid, 'SIGTERM');
      let since = began;
      if (isForced) {
        await wait(random.between(20, 200));
        since = performance.now();
        process.kill(site.pid, 'SIGTERM');
      }
      const [code, signal] = await ended;
      const tookMs = performance.now() - since;
      (isForced ? forced : endings).push(tookMs);
      if (tookMs > (isForced ? forcedMs : exitMs))
        complain(
          figures,
          `cycle ${cycle}: it took ${Math.round(tookMs)} ms to end${isForced ? ' at the second signal' : ''}`,
        );
      if (!isForced && code !== 0) complain(figures, `cycle ${cycle}: it ended with ${signal ?? code}`);
      await Promise.all(clients);
      agent.destroy();
    }
    const worst = (all: readonly number[]) => Math.round(percentile(all, 1));
    figures.notes.push(`ended after ${worst(endings)} ms at most, at a second signal after ${worst(forced)} ms`);
  } finally {
    await scene.end();
  }
}
