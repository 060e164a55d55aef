import { type Code, type Refusal, refusal } from '../../errors.ts';
import { valueAt } from '../../http/validation/document.ts';
import { preview } from '../../http/validation/preview.ts';

export interface BodyFault {
  readonly path: readonly (string | number)[];
  /** Without the field's name, which the path has. */
  readonly message: string;
  readonly code?: Code;
  /** Contract E.1; default `value_error`. */
  readonly type?: string;
  readonly ctx?: Readonly<Record<string, unknown>>;
}

/** A 422 in the form of schema faults (contract E.1, DETAIL rules), for faults that no schema finds. */
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
