import { type Code, type Refusal, type RefusalOptions, refusal } from '../errors.ts';

/** A class, because a query `?code=&details=` looks like a `Refusal`; wire data is no instance. */
export class Refused {
  readonly refusal: Refusal;
  constructor(reason: Refusal) {
    this.refusal = reason;
  }
}

export const refused = (code: Code, options?: RefusalOptions): Refused => new Refused(refusal(code, options));
