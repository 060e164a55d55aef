import type { Passing } from '../upstream/port.ts';
import type { Judge } from './admission.ts';
import type { Asked, BodyReader } from './body-reader.ts';

/** On the event loop, or for large bodies in a thread (contract A.3). @typeParam Rest needed after judgement */
export interface Reading<Rest extends Asked, Strict extends Rest, Fields extends Asked, P extends Passing = Passing> {
  readonly reader: BodyReader<Strict, Fields, P>;
  readonly judge: Judge<Strict>;
  /** Plain data without the conversation. */
  readonly rest: (strict: Strict) => Rest;
}
