import type { Model } from '../../upstream/models/models.ts';
import { needOf, type Task } from './admission.ts';
import { pricedImages } from './images.ts';
import type { RequestSeen } from './policed.ts';
import { isWrittenTask } from './task.ts';

/** A request that has been judged by its model, as policies and accounts see it. */
export const subjectOf = <Fields>(task: Task<Fields>, { max_output_length: most }: Model): RequestSeen => {
  const { strict } = task;
  const need = needOf(task);
  if (strict === null) return { request: null, need, most };
  if (isWrittenTask(strict)) return { request: null, need, most, writtenMost: strict.most ?? null };
  const request = { ...strict.request, metadata: strict.metadata };
  return { request, need, most };
};

const noBytes = Buffer.alloc(0);

/** Its bytes: those that pass, or those that a thread has written in the form of messages. None where there is an object. */
export const bytesOf = <Fields>({ strict, passed }: Task<Fields>): Buffer => {
  if (strict === null) return passed.bytes();
  if (!isWrittenTask(strict)) return noBytes;
  const { buffer, byteOffset, byteLength } = strict.text;
  return Buffer.from(buffer, byteOffset, byteLength);
};

/** Searches that its upstream may make. One that does not get the request as it is makes none. */
export const searchesOf = <Fields>({ passed }: Task<Fields>): number => passed?.searches ?? 0;

/** Images that have a price. */
export const imagesOf = <Fields>({ strict, passed }: Task<Fields>, model: Model): number => {
  if (strict === null) return passed.images;
  return isWrittenTask(strict) ? strict.images : pricedImages(model, 'messages', strict.request);
};
