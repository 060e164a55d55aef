import type { Cancellation } from '../../cancellation.ts';
import { type Upstream, UpstreamError } from '../port.ts';
import type { RetryBudget } from '../transport/retry-budget.ts';
import type { Attempt, Breaker } from './breaker.ts';
import type { Rotation } from './rotation.ts';

/** One of the upstreams of a model. */
export interface Member {
  /** Its name in the declaration, else its place there. */
  readonly name: string;
  /** Its own name of the model. */
  readonly model: string;
  readonly weight: number;
  /** The lowest comes first. */
  readonly priority: number;
  readonly upstream: Upstream;
  readonly breaker: Breaker;
  /** How it failed last. */
  failure: UpstreamError | null;
}

/** The upstreams of one model. */
export interface Group {
  readonly members: readonly Member[];
  readonly rotation: Rotation<Member>;
  /** Of the whole model: however many upstreams fail, no more requests come of it than a tenth. */
  readonly retries: RetryBudget;
}

/** What an upstream has answered, or begun to answer. */
export interface Asked<T> {
  readonly member: Member;
  readonly attempt: Attempt;
  readonly value: T;
}

/**
 * Asks the upstreams one after the other until one answers (contract L.2).
 *
 * @param ask sends the request; what it resolves with must not have gone to the client yet
 * @throws the signal's reason, or the UpstreamError of the last that was asked
 */
export const firstOf = async <T>(
  group: Group,
  signal: Cancellation,
  ask: (member: Member, attempt: Attempt) => Promise<T>,
): Promise<Asked<T>> => {
  signal.throwIfAborted();
  const asked = new Set<Member>();
  let failure: UpstreamError | null = null;
  for (;;) {
    const next = candidates(group, asked);
    if (next.length === 0 || (failure !== null && !group.retries.take())) throw refusalOf(group, failure);
    if (failure === null) group.retries.earn();
    const member = group.rotation.pick(next);
    asked.add(member);
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
const candidates = ({ members }: Group, asked: ReadonlySet<Member>): readonly Member[] => {
  let best: Member[] = [];
  for (const member of members) {
    if (asked.has(member) || !member.breaker.isFree) continue;
    const lead = best[0]?.priority ?? member.priority;
    if (member.priority < lead) best = [member];
    else if (member.priority === lead) best.push(member);
  }
  return best;
};

/** Whether another upstream is asked for the same. */
const goesOn = (error: UpstreamError): boolean => !error.begun && isItsOwn(error);

/** Whether the upstream has failed. Any other 4xx but those of its account is about the request; what is below is no answer. */
const isItsOwn = ({ code, status }: UpstreamError): boolean =>
  status === undefined ? itsOwn.has(code) : status < 400 || status >= 500 || status === 429 || status === 401;

const itsOwn: ReadonlySet<UpstreamError['code']> = new Set([
  'provider_error',
  'provider_overloaded',
  'provider_timeout',
]);

/** Lets the breaker know how an attempt has failed. */
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

/** What the client is told where no upstream is left: the last failure, and when the first of them may be asked again. */
const refusalOf = ({ members }: Group, failure: UpstreamError | null): UpstreamError => {
  const first = members.reduce((one, other) => (other.breaker.freeInMs < one.breaker.freeInMs ? other : one));
  // One that may not be asked has failed.
  const { code, message, status, cause, length } = (failure ?? first.failure)!;
  const retryAfterSeconds = Math.max(1, Math.ceil(first.breaker.freeInMs / 1000));
  return new UpstreamError(code, message, { retryAfterSeconds, status, begun: false, cause, length });
};
