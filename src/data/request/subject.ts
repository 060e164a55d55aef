import type { Model } from '../upstream/models/models.ts';
import { needOf, type Task } from './admission.ts';
import { pricedImages } from './images.ts';
import type { RequestSeen } from './policed.ts';
import { isWrittenTask } from './task.ts';

export const subjectOf = <Fields>(task: Task<Fields>, { max_output_length: most }: Model): RequestSeen => {
  const { strict } = task;
  const need = needOf(task);
  if (strict === null) return { request: null, need, most };
  if (isWrittenTask(strict)) return { request: null, need, most, writtenMost: strict.most ?? null };
  const request = { ...strict.request, metadata: strict.metadata };
  return { request, need, most };
};

const noBytes = Buffer.alloc(0);

/** The passing bytes, or those that a thread wrote; none for an object. */
export const bytesOf = <Fields>({ strict, passed }: Task<Fields>): Buffer => {
  if (strict === null) return passed.bytes();
  if (!isWrittenTask(strict)) return noBytes;
  const { buffer, byteOffset, byteLength } = strict.text;
  return Buffer.from(buffer, byteOffset, byteLength);
};

/** Only passing requests can search. */
export const searchesOf = <Fields>({ passed }: Task<Fields>): number => passed?.searches ?? 0;

export const imagesOf = <Fields>({ strict, passed }: Task<Fields>, model: Model): number => {
  if (strict === null) return passed.images;
  return isWrittenTask(strict) ? strict.images : pricedImages(model, 'messages', strict.request);
};
