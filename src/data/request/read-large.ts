import type { Transferable } from 'node:worker_threads';
import { isRefusal, type Refusal } from '../../errors.ts';
import { Refused } from '../../http/refused.ts';
import { jsonText } from '../../json/exact-number.ts';
import type { Passing, Purpose } from '../upstream/port.ts';
import { type Asked, askedOf, type PassedBody } from './body-reader.ts';
import { pricedImages } from './images.ts';
import { type Models, namedModel, type ServedTo } from './named-model.ts';
import type { Reading } from './reading.ts';
import type { LargeTask } from './task.ts';

export interface LargeJob {
  readonly api: LargeApi;
  readonly body: Uint8Array;
  readonly served: ServedTo;
}
export type LargeApi = 'messages' | 'count' | 'chat.completions' | 'responses';

/** With the id of the model that it was read for. Plain data without conversation objects: transferring them costs as much as parsing. */
export type LargeRead<Rest, Fields> =
  | { readonly refusal: Refusal }
  | {
      readonly passed: Omit<PassedBody<Fields>, 'passing' | 'bytes'> & { readonly body: Uint8Array };
      readonly id: string;
    }
  /** `judged` is undefined for a model that the caller cannot see. */
  | { readonly strict: Rest; readonly judged: LargeTask | Refusal | undefined; readonly id: string | undefined }
  | { readonly fault: string };

/** Also writes it out for the upstream. */
export const readLarge = <Rest extends Asked, Strict extends Rest, Fields extends Asked, P extends Passing>(
  { reader, judge, rest: restOf }: Reading<Rest, Strict, Fields, P>,
  models: Models,
  { api, body, served }: LargeJob,
): LargeRead<Rest, Fields> => {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const read = reader.whole(bytes, served);
  if (read instanceof Refused) return { refusal: plain(read.refusal) };
  const hosted = namedModel(models, askedOf(read).model, served);
  const id = hosted?.model.id;
  if (read.passed !== null) {
    const { passing: _, bytes: outgoing, ...passed } = read.passed;
    return { passed: { ...passed, body: outgoing() }, id: id! };
  }
  const { strict } = read;
  const rest = restOf(strict);
  if (hosted === undefined) return { strict: rest, judged: undefined, id };
  const task = judge(strict, hosted);
  if (isRefusal(task)) return { strict: rest, judged: plain(task), id };
  const { upstream, request, metadata, ...need } = task;
  const written = upstream.written!(request, purposeOf(api, rest));
  const text = Buffer.from(jsonText({ ...request, metadata }));
  const images = pricedImages(hosted.model, 'messages', request);
  return { strict: rest, judged: { ...need, images, text, most: request.max_tokens, written }, id };
};

const purposeOf = (api: LargeApi, { stream }: Asked): Purpose => {
  if (api === 'count') return 'count';
  return stream === true ? 'stream' : 'answer';
};

/** A refusal may quote a number that keeps its digits, which only JSON transfers. */
const plain = (refused: Refusal): Refusal => JSON.parse(JSON.stringify(refused)) as Refusal;

/** Transferred without a copy. */
export const memoryOf = (read: LargeRead<unknown, unknown>): readonly Transferable[] => {
  const all = new Set<ArrayBuffer>();
  const add = ({ buffer, byteLength }: Uint8Array) => {
    // Small buffers share a pool.
    if (buffer.byteLength === byteLength) all.add(buffer as ArrayBuffer);
  };
  if ('passed' in read) add(read.passed.body);
  if ('strict' in read && read.judged !== undefined && 'written' in read.judged) {
    add(read.judged.text);
    for (const each of read.judged.written) if (each !== null && 'body' in each) add(each.body);
  }
  return [...all];
};
