import type { Cancellation } from '../../../cancellation.ts';
import { type Upstream, UpstreamError } from '../port.ts';
import type { RetryBudget } from '../transport/retry-budget.ts';
import type { Attempt, Breaker } from './breaker.ts';
import type { Rotation } from './rotation.ts';

export interface Member {
  /** Its name in the declaration, else its place there. */
  readonly name: string;
  readonly model: string;
  readonly weight: number;
  readonly priority: number;
  readonly upstream: Upstream;
  readonly breaker: Breaker;
  failure: UpstreamError | null;
}

export interface Group {
  readonly members: readonly Member[];
  readonly rotation: Rotation<Member>;
  /** Shared by the model: retries stay below a tenth of its requests however many upstreams fail. */
  readonly retries: RetryBudget;
}

/** A whole answer, or the start of a streamed one. */
export interface Asked<T> {
  readonly member: Member;
  readonly attempt: Attempt;
  readonly value: T;
}

/** What `ask` resolves with must not have reached the client (contract L.2). @throws the last UpstreamError */
export const firstOf = async <T>(
  group: Group,
  signal: Cancellation,
  ask: (member: Member, attempt: Attempt) => Promise<T>,
): Promise<Asked<T>> => {
  signal.throwIfAborted();
  const asked: Member[] = [];
  let failure: UpstreamError | null = null;
  for (;;) {
    const next = candidates(group, asked);
    if (next.length === 0 || (failure !== null && !group.retries.take())) throw refusalOf(group, failure);
    if (failure === null) group.retries.earn();
    const member = group.rotation.pick(next);
    asked.push(member);
    const attempt = member.breaker.begin();
    try {
      return { member, attempt, value: await ask(member, attempt) };
    } catch (error) {
      tell(member, attempt, error);
      signal.throwIfAborted();
      if (!(error instanceof UpstreamError) || !goesOn(error)) throw error;
      failure = error;
    }
  }
};

/** Those of the lowest priority among the upstreams that may be asked. */
const candidates = ({ members }: Group, asked: readonly Member[]): readonly Member[] => {
  let best: Member[] = [];
  for (const member of members) {
    if (asked.includes(member) || !member.breaker.isFree) continue;
    const lead = best[0]?.priority ?? member.priority;
    if (member.priority < lead) best = [member];
    else if (member.priority === lead) best.push(member);
  }
  return best;
};

const goesOn = (error: UpstreamError): boolean => !error.begun && isItsOwn(error);

/** Other 4xx than those of the operator's account concern the request. */
const isItsOwn = ({ code, status }: UpstreamError): boolean =>
  status === undefined ? itsOwn.has(code) : status < 400 || status >= 500 || status === 429 || status === 401;

const itsOwn: ReadonlySet<UpstreamError['code']> = new Set([
  'provider_error',
  'provider_overloaded',
  'provider_timeout',
]);

export const tell = (member: Member, attempt: Attempt, error: unknown): void => {
  if (!(error instanceof UpstreamError)) {
    // The client has left, or the fault is ours.
    attempt.abandoned();
  } else if (!isItsOwn(error)) {
    attempt.answered();
  } else {
    member.failure = error;
    const { code, status, retryAfterSeconds } = error;
    const asksForPause = code === 'provider_overloaded' || status === 429 || status === 529;
    if (asksForPause && retryAfterSeconds !== undefined) attempt.paused(retryAfterSeconds * 1000);
    else attempt.failed();
  }
};

/** The last failure, with the time until an upstream becomes available. */
const refusalOf = ({ members }: Group, failure: UpstreamError | null): UpstreamError => {
  const first = members.reduce((one, other) => (other.breaker.freeInMs < one.breaker.freeInMs ? other : one));
  const { code, message, status, cause, length } = (failure ?? first.failure)!;
  const retryAfterSeconds = Math.max(1, Math.ceil(first.breaker.freeInMs / 1000));
  return new UpstreamError(code, message, { retryAfterSeconds, status, begun: false, cause, length });
};
