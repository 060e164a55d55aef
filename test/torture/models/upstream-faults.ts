import { setTimeout as wait } from 'node:timers/promises';
import { complain, type Figures, type Plan, percentile } from '../figures.ts';
import { seeded } from '../random.ts';
import { Scene } from '../scene.ts';
import { ask, eventsIn, type Heard, textOf } from './asking.ts';
import { bytesOf, crossed, type Fate, fateOf } from './faults.ts';
import { type Arrival, provider } from './provider.ts';
import { wholeText } from './recorded.ts';
import { at, bodyOf, startSite } from './site.ts';

/** Requests under way at once. */
const width = 16;
/** Until the first byte, and between two pieces, as the model declares them. */
const deadlineMs = 400;
/** A lost connection is tried once more after so long at most. */
const pauseMs = 110;
/** What a deadline may be late by (G1). */
const lateMs = 1_000;
/** The deadlines of the canary's gateway. */
const noDeadlineMs = 4_000;

const isShaped = ({ headers, text }: Heard): boolean => {
  try {
    const { type, error } = JSON.parse(text) as { type: string; error: { type: string; message: string } };
    return type === 'error' && typeof error.type === 'string' && error.message !== '' && 'request-id' in headers;
  } catch {
    return false;
  }
};

/** What is wrong with an answer as such; undefined where it is sound. `isAnswer` says whether it is one. */
const soundness = (heard: Heard, isStream: boolean): { readonly isAnswer: boolean; readonly fault?: string } => {
  const { status, text, isWhole } = heard;
  if (!isWhole) return { isAnswer: false, fault: `the answer was cut off after status ${status}` };
  if (status !== 200)
    return { isAnswer: false, ...(!isShaped(heard) && { fault: `${status} is told as ${text.slice(0, 200)}` }) };
  if (!isStream) {
    const isAnswer = text.includes(JSON.stringify(wholeText));
    return { isAnswer, ...(!isAnswer && { fault: `200 with ${text.slice(0, 200)}` }) };
  }
  const events = eventsIn(text);
  const last = events.at(-1)?.type;
  const told = textOf(events);
  if (events[0]?.type !== 'message_start')
    return { isAnswer: false, fault: `the stream begins with ${text.slice(0, 200)}` };
  if (last === 'error')
    return { isAnswer: false, ...(!wholeText.startsWith(told) && { fault: `it says ${told} and then an error` }) };
  const isAnswer = last === 'message_stop' && told === wholeText;
  return { isAnswer, ...(!isAnswer && { fault: `the stream ends with ${last} after ${told}` }) };
};

/** Time that the gateway may have had nothing of, for others had the machine. */
const isStarved = (heard: Heard, lagMs: number): boolean =>
  heard.status === 504 && heard.ms >= deadlineMs && lagMs > deadlineMs / 4;

const isExpected = ({ expected }: Fate, status: number, isAnswer: boolean): boolean => {
  if (expected === 'either') return true;
  if (expected === 'refusal') return status === 400;
  return isAnswer === (expected === 'answer') && status !== 400;
};

/**
 * G1: a provider that fails in every way: no connection, silence, resets and ends after each byte of an answer, stalls,
 * garbage, a gzip bomb, statuses, redirects. The client hears an error in the shape of the API or the answer, in time; after
 * the first byte nothing is asked for twice; the gateway goes on. The canary's gateway has no deadlines to speak of.
 */
export async function torturedByUpstreamFaults(
  { count, seed, from = 0, canary }: Plan,
  figures: Figures,
): Promise<void> {
  const scene = new Scene();
  try {
    const elsewhere: number[] = [];
    const other = await provider(scene, ({ n }) => elsewhere.push(n));
    const attempts = new Map<number, Fate[]>();
    const answer = ({ n, isStream, socket }: Arrival): void => {
      const earlier = attempts.get(n) ?? [];
      const random = seeded(seed + earlier.length, n);
      // It came on a connection that had been ended before, which its sender could not know yet: nothing can be said on it.
      const fate = socket.writable ? fateOf(n, isStream, n, random, other.url) : crossed;
      attempts.set(n, [...earlier, fate]);
      const bytes = bytesOf(fate);
      const goOn = () => {
        if (fate.after === 'reset') socket.resetAndDestroy();
        if (fate.after === 'end') socket.end();
      };
      if (bytes.length === 0) goOn();
      else socket.write(bytes, goOn);
    };
    const { url } = await provider(scene, answer);
    const ms = canary ? noDeadlineMs : deadlineMs;
    const deadlines = { connect_timeout_ms: ms, first_byte_timeout_ms: ms, idle_timeout_ms: ms };
    const site = await startSite(scene, {
      faulty: { upstream: at(url, deadlines) },
      // Nobody listens on port 1.
      refused: { upstream: at('http://127.0.0.1:1', deadlines) },
    });
    let end: string | undefined;
    site.onEnd((words) => {
      end = words;
    });
    const late: number[] = [];
    let lag = 0;
    const watch = async (signal: AbortSignal) => {
      while (!signal.aborted) {
        const began = performance.now();
        await wait(20);
        lag = Math.max(lag, performance.now() - began - 20);
      }
    };
    const judge = (n: number, isStream: boolean, heard: Heard): void => {
      const fates = attempts.get(n) ?? [];
      const last = fates.at(-1);
      const where = `request ${n} (${fates.map(({ name }) => name).join(', then ') || 'refused'})`;
      const { isAnswer, fault } = soundness(heard, isStream);
      if (fault !== undefined) complain(figures, `${where}: ${fault}`);
      const isWrong = last === undefined ? isAnswer : !isExpected(last, heard.status, isAnswer);
      if (isWrong && !isStarved(heard, lag))
        complain(figures, `${where} was answered ${heard.status} ${heard.text.slice(-200)}`);
      // A reset takes along what has not been read, so that nobody knows whether a byte of it was heard.
      const isHeard = ({ bytes, after }: Fate) => bytes.length > 0 && after !== 'reset';
      if (fates.length > 2 || fates.slice(0, -1).some(isHeard))
        complain(figures, `${where} was asked for ${fates.length} times`);
      const allowed = fates.length * deadlineMs + pauseMs;
      late.push(Math.max(0, heard.ms - allowed));
      if (heard.ms > allowed + lateMs + lag) complain(figures, `${where} took ${Math.round(heard.ms)} ms`);
    };
    const over = new AbortController();
    const watching = watch(over.signal);
    const beyond = from + count;
    let next = from;
    const worker = async (): Promise<void> => {
      while (next < beyond && end === undefined) {
        scene.goOn();
        const n = next++;
        const random = seeded(seed ^ 0x51ed, n);
        const isStream = random.next() < 0.6;
        const model = random.next() < 0.03 ? 'refused' : 'faulty';
        judge(n, isStream, await ask(site, bodyOf(n, isStream, model)));
        figures.cycles++;
        figures.acknowledged++;
      }
    };
    await Promise.all(Array.from({ length: width }, worker));
    over.abort();
    await watching;
    if (end !== undefined) complain(figures, `the gateway has ended: ${end}`);
    else if (!(await fetch(`${site.baseUrl}/v1/health`)).ok) complain(figures, 'the gateway does not answer any more');
    if (elsewhere.length > 0) complain(figures, `a redirect was followed ${elsewhere.length} times`);
    const twice = [...attempts.values()].filter(({ length }) => length > 1).length;
    figures.notes.push(
      `${twice} requests asked for once more before the first byte; a deadline was late by ${Math.round(percentile(late, 0.99))} ms (p99)`,
    );
  } finally {
    await scene.end();
  }
}
