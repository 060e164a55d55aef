import { type Code, type Refusal, refusal } from '../errors.ts';
import { valueAt } from '../http/validation/document.ts';
import { preview } from '../http/validation/preview.ts';

export interface BodyFault {
  readonly path: readonly (string | number)[];
  /** A sentence that does not name the field: the path does. */
  readonly message: string;
  readonly code?: Code;
  /** In the vocabulary of contract E.1; `value_error` by default. */
  readonly type?: string;
  readonly ctx?: Readonly<Record<string, unknown>>;
}

/** A 422 of a body that no schema could give, in the form of those that a schema gives (contract E.1, DETAIL rules). */
export const bodyRefusal = (body: object, fault: BodyFault): Refusal => {
  const { path, message, code = 'validation_failed', type = 'value_error', ctx = {} } = fault;
  const steps = path.map(String);
  const input = preview(valueAt(body, path));
  const param = steps.join('.');
  return refusal(code, {
    message: `${param}: ${message}`,
    param,
    details: [{ loc: ['body', ...steps], msg: message, type, input, ctx }],
  });
};
