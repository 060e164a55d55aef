import type { ConnectedModel } from '../../upstream/connect.ts';
import type { Passing } from '../../upstream/port.ts';
import type { Judge } from './admission.ts';
import type { Asked, BodyReader } from './body-reader.ts';

/**
 * How one API reads its bodies and judges them by their model: on the event loop, and large ones in a thread (contract A.3).
 *
 * @typeParam Rest what is still needed of a strict request once it has been judged
 */
export interface Reading<Rest extends Asked, Strict extends Rest, Fields extends Asked, P extends Passing = Passing> {
  readonly reader: BodyReader<Strict, Fields, P>;
  readonly judge: Judge<Strict>;
  /** Without what a conversation holds, and plain data. */
  readonly rest: (strict: Strict) => Rest;
}

/** By the names that callers send. */
export type Models = ReadonlyMap<string, ConnectedModel>;
