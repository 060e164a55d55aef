import { type Code, type Refusal, type RefusalOptions, refusal } from '../errors.ts';

/**
 * A class, because a query `?code=&details=` or a body with these keys looks like a `Refusal`; nothing from the wire
 * is an instance.
 */
export class Refused {
  readonly refusal: Refusal;
  constructor(reason: Refusal) {
    this.refusal = reason;
  }
}

export const refused = (code: Code, options?: RefusalOptions): Refused => new Refused(refusal(code, options));
