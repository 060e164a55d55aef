import { type Code, type Refusal, refusal } from '../errors.ts';

export interface BodyFault {
  readonly path: readonly (string | number)[];
  /** A sentence that does not name the field: the path does. */
  readonly message: string;
  /** The offending value where it is short and not binary, else null. */
  readonly input: string | number | boolean | null;
  readonly code?: Code;
  /** In the vocabulary of contract E.1; `value_error` by default. */
  readonly type?: string;
  readonly ctx?: Readonly<Record<string, unknown>>;
}

/** A 422 that no schema could give, in the form of those that a schema gives (contract E.1, DETAIL rules). */
export const bodyRefusal = (fault: BodyFault): Refusal => {
  const { path, message, input, code = 'validation_failed', type = 'value_error', ctx = {} } = fault;
  const steps = path.map(String);
  const param = steps.join('.');
  return refusal(code, {
    message: `${param}: ${message}`,
    param,
    details: [{ loc: ['body', ...steps], msg: message, type, input, ctx }],
  });
};
