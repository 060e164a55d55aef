import { randomUUID } from 'node:crypto';
import { type EventData, type EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { complain, type Figures, type Plan } from './figures.ts';
import { Scene } from './scene.ts';

const states = ['missing', 'plain', 'soft-deleted', 'tombstoned'] as const;
type State = (typeof states)[number];
const expectations = ['no_stream', 'any', 'stream_exists', 0n, 1n, 5n] as const;
type Expectation = (typeof expectations)[number];
/** Which events are sent: `0` and `1` are those on the stream already, `n` is new. */
const sendings = ['n', 'nn', '0', '01', '1', '0n', '01n', 'n0'] as const;
type Sending = (typeof sendings)[number];

type Decision =
  | { readonly is: 'written'; readonly revision: number }
  | { readonly is: 'again'; readonly revision: number }
  | { readonly is: 'wrong-expected-version' }
  | { readonly is: 'stream-deleted' };

const wrong: Decision = { is: 'wrong-expected-version' };

/** The five decisions of KurrentDB, as its source and a real node have them, in a form of its own. */
function lawful(state: State, expected: Expectation, sending: Sending): Decision {
  if (state === 'tombstoned') return { is: 'stream-deleted' };
  const there = state === 'missing' ? '' : '01';
  const last = there.length - 1;
  const written: Decision = { is: 'written', revision: last + sending.length };
  if (expected === 'any' || expected === 'stream_exists') {
    if (expected === 'stream_exists' && state === 'soft-deleted') return { is: 'stream-deleted' };
    if (expected === 'stream_exists' && state === 'missing') return wrong;
    // By ids lately written to this stream: none of the first, all, or a first few.
    const known = [...sending].map((id) => there.includes(id));
    if (!known[0]) return written;
    return known.every(Boolean) ? { is: 'again', revision: there.indexOf(sending.at(-1)!) } : wrong;
  }
  const at = expected === 'no_stream' ? -1 : Number(expected);
  if (at > last) return wrong;
  if (at === last) return written;
  // By what lies behind the revision that was expected.
  const behind = there.slice(at + 1);
  if (behind.startsWith(sending)) return { is: 'again', revision: at + sending.length };
  if (expected === 'no_stream' && state === 'soft-deleted' && behind[0] !== sending[0]) return written;
  return wrong;
}

/** Through the batch stream of the client, or by the classic call, which it makes where it is given credentials. */
const pathsAt = (url = '') => {
  const [, user = 'admin', password = 'changeit'] = /:\/\/([^:@/]+):([^@/]+)@/.exec(url) ?? [];
  const credentials = { username: decodeURIComponent(user), password: decodeURIComponent(password) };
  return { batch: {}, classic: { credentials } };
};
type Paths = ReturnType<typeof pathsAt>;

/**
 * D11: every combination of state, expected revision, events sent and kind of call, against the table; then `count` appends
 * of the same event at once, which is to be there once. The canary's store recognises no repeated append.
 */
export async function torturedByRepeats({ count, canary, store: url }: Plan, figures: Figures): Promise<void> {
  const scene = new Scene();
  try {
    const settings = canary ? { faults: { forgetIds: true } } : { embedded: true };
    const client = scene.connect(url ?? (await scene.start(scene.dir(), { settings })).endpoint);
    let cases = 0;
    for (const [path, options] of Object.entries(pathsAt(url))) {
      for (const state of states) {
        for (const expected of expectations) {
          await Promise.all(sendings.map((sending) => ask(client, [path, options], state, expected, sending, figures)));
          cases += sendings.length;
        }
      }
    }
    await stampede(client, count, figures);
    figures.cycles = count;
    figures.notes.push(`and all ${cases} combinations of the table`);
  } finally {
    await scene.end();
  }
}

const fresh = (): EventData => jsonEvent({ type: 'repeated', data: {} });

async function ask(
  client: EventStoreDBClient,
  [path, options]: [name: string, options: Paths[keyof Paths]],
  state: State,
  expected: Expectation,
  sending: Sending,
  figures: Figures,
): Promise<void> {
  const stream = `repeat-${randomUUID()}`;
  const first = [fresh(), fresh()];
  let position: bigint | undefined;
  if (state !== 'missing') {
    const answer = await client.appendToStream(stream, first, { expectedRevision: 'no_stream' });
    position = answer.position!.commit;
  }
  if (state === 'soft-deleted') await client.deleteStream(stream);
  if (state === 'tombstoned') await client.tombstoneStream(stream);
  const events = [...sending].map((which) => (which === 'n' ? fresh() : first[Number(which)]!));
  const law = lawful(state, expected, sending);
  const name = `${path}, ${state}, ${expected}, ${sending}`;
  try {
    const answer = await client.appendToStream(stream, events, { ...options, expectedRevision: expected });
    figures.acknowledged++;
    const isAgain = position !== undefined && answer.position!.commit <= position;
    const is = isAgain ? 'again' : 'written';
    const revision = Number(answer.nextExpectedRevision);
    if (law.is !== is || law.revision !== revision)
      complain(figures, `${name}: ${is} at ${revision} instead of ${JSON.stringify(law)}`);
  } catch (error) {
    const { type } = error as { type?: string };
    if (type !== law.is) complain(figures, `${name}: ${type ?? error} instead of ${JSON.stringify(law)}`);
  }
}

async function stampede(client: EventStoreDBClient, count: number, figures: Figures): Promise<void> {
  const event = fresh();
  const stream = `stampede-${randomUUID()}`;
  const positions = new Set<bigint>();
  await Promise.all(
    Array.from({ length: count }, async () => {
      try {
        const answer = await client.appendToStream(stream, event, { expectedRevision: 'no_stream' });
        positions.add(answer.position!.commit);
        figures.acknowledged++;
      } catch (error) {
        complain(figures, `the same append again: ${(error as Error).message}`);
      }
    }),
  );
  let there = 0;
  for await (const _ of client.readStream(stream)) there++;
  if (there !== 1 || positions.size !== 1) {
    figures.doubled += Math.max(0, there - 1);
    complain(figures, `${count} times the same append are ${there} events at ${positions.size} positions`);
  }
}
