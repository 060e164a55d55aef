import { type Code, type Refusal, type RefusalOptions, refusal } from '../errors.ts';

/**
 * A refusal where the alternative is something the client wrote. A query `?code=&details=` or a body with these keys
 * looks like a `Refusal`; nothing that came over the wire is an instance of this.
 */
export class Refused {
  readonly refusal: Refusal;
  constructor(reason: Refusal) {
    this.refusal = reason;
  }
}

export const refused = (code: Code, options?: RefusalOptions): Refused => new Refused(refusal(code, options));
