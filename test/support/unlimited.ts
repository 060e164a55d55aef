import { isRefusal, type Refusal } from '../../src/errors.ts';
import {
  type Access,
  type Account,
  type Allowance,
  type Gate,
  type Head,
  type RateLimitLease,
  unmetered,
} from '../../src/http/route.ts';

/** An allowance that nothing exhausts, and the account that it opens. */
export const allowance = (): Allowance & Account => {
  const made: Allowance & Account = { ...unmetered, open: () => Promise.resolve(made), enter: () => null };
  return made;
};

const pass = <P extends object>(principal: P): RateLimitLease<P> => ({
  ...allowance(),
  principal,
  organization: 'id' in principal ? String(principal.id) : '',
  limited: false,
  dated: false,
  denied: undefined,
  refusal: () => {
    throw new Error('nothing is limited');
  },
  lines: () => '',
  end: () => {},
});

/** A gate that judges and limits nobody. */
export const unlimitedGate = <P extends object>(judge: (head: Head, access: Access) => P | Refusal): Gate<P> => ({
  isTooOld: false,
  judge(head, access) {
    const verdict = judge(head, access);
    return isRefusal(verdict) ? verdict : pass(verdict);
  },
  meet: () => undefined,
  judgeAgain(head, access) {
    const verdict = judge(head, access);
    return isRefusal(verdict) ? verdict : { principal: verdict };
  },
});
