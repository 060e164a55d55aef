import { type Code, Fault, type Refusal, type RefusalOptions, refusal } from '../errors.ts';
import { publish } from '../telemetry.ts';

/** A class, because a query `?code=&details=` looks like a `Refusal`; wire data is no instance. */
export class Refused {
  readonly refusal: Refusal;
  constructor(reason: Refusal) {
    this.refusal = reason;
  }
}

export const refused = (code: Code, options?: RefusalOptions): Refused => new Refused(refusal(code, options));

/** Errors that are no refusals are reported, and are 500s. */
export const refusalOf = (error: unknown, requestId: string): Refusal => {
  if (error instanceof Fault) return error.refusal;
  publish('request.failed', { requestId, error });
  return refusal('internal_error');
};
