import type { Transferable } from 'node:worker_threads';
import type { Api } from '../../apis.ts';
import type { Refusal } from '../../errors.ts';
import { Refused } from '../../http/refused.ts';
import { jsonText } from '../../json/exact-number.ts';
import type { Purpose } from '../upstream/port.ts';
import type { Models, ServedTo } from './named-model.ts';
import { anywhere, type Prepare } from './prepare.ts';
import type { Prepared, Sent } from './prepared.ts';

export interface LargeJob {
  readonly api: LargeApi;
  readonly body: Uint8Array;
  readonly served: ServedTo;
}
export type LargeApi = Api | 'count';

/** What a thread has read, without objects of the conversation: transferring them costs as much as parsing. */
export type LargeRead =
  | { readonly refused: Refusal }
  | { readonly prepared: Prepared<unknown> }
  | { readonly fault: string };

/** In the thread. */
export const readLarge = (prepare: Prepare<unknown>, models: Models, { api, body, served }: LargeJob): LargeRead => {
  // Nothing is too much for a thread.
  const read = prepare(bufferOf(body), served, anywhere)!;
  if (read instanceof Refused) return { refused: plain(read.refusal) };
  const { placeOf, refusal, ...rest } = read;
  const { sent } = rest;
  return {
    prepared: {
      ...rest,
      placeOf: placeOf && null,
      refusal: refusal && plain(refusal),
      ...(sent !== null && 'request' in sent && { sent: written(sent, models, read, api), cut: undefined }),
    },
  };
};

/** A request as it goes to each upstream of its model. */
const written = (
  { request, metadata }: Extract<Sent, { request: unknown }>,
  models: Models,
  { modelId, isStreamed }: Prepared<unknown>,
  api: LargeApi,
): Sent => {
  const purpose: Purpose = api === 'count' ? 'count' : isStreamed ? 'stream' : 'answer';
  const { upstream } = models.get(modelId!)!;
  return {
    written: upstream.written!(request, purpose),
    text: Buffer.from(jsonText({ ...request, metadata })),
  };
};

/** A refusal may quote a number that keeps its digits, which only JSON transfers. */
const plain = (refused: Refusal): Refusal => JSON.parse(JSON.stringify(refused)) as Refusal;

/** Transferred without a copy. */
export const memoryOf = (read: LargeRead): readonly Transferable[] => {
  const sent = 'prepared' in read ? read.prepared.sent : null;
  if (sent === null || 'request' in sent) return [];
  const bodies = 'body' in sent ? [sent.body] : [sent.text, ...sent.written.map((each) => bodyOf(each))];
  // Small buffers share a pool.
  const own = bodies.filter((each) => each !== null && each.buffer.byteLength === each.byteLength);
  return [...new Set(own.map((each) => each!.buffer as ArrayBuffer))];
};

const bodyOf = (each: Extract<Sent, { written: unknown }>['written'][number]): Uint8Array | null =>
  each !== null && 'body' in each ? each.body : null;

/** On the event loop. */
export const received = (prepared: Prepared<unknown>): Prepared<unknown> => {
  const { sent } = prepared;
  if (sent === null || 'request' in sent) return prepared;
  const whole = 'body' in sent ? { ...sent, body: bufferOf(sent.body) } : { ...sent, text: bufferOf(sent.text) };
  return { ...prepared, sent: whole };
};

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
