import type { Clock, Millis } from '../../../clock.ts';
import { lentDocument } from '../../../json/document.ts';
import { edited } from '../../../json/edits.ts';
import { publish } from '../../../telemetry.ts';
import { noTokens } from '../../../tokens.ts';
import type {
  GenerateOptions,
  GenerateRequest,
  MessagesPassing,
  PassedRequest,
  Upstream,
  WrittenRequest,
} from '../port.ts';
import { RetryBudget } from '../transport/retry-budget.ts';
import { isWritten } from '../transport/written.ts';
import { Breaker, type BreakerState } from './breaker.ts';
import { type Asked, firstOf, type Group, type Member, tell } from './first-of.ts';
import { Rotation } from './rotation.ts';

interface Part extends Pick<Member, 'name' | 'model' | 'weight' | 'priority' | 'upstream'> {}

export interface UpstreamHealth {
  readonly name: string;
  readonly state: BreakerState;
  /** Wall time from which it may be asked again; null if now. */
  readonly until: Millis | null;
}

export interface Balanced {
  readonly upstream: Upstream;
  readonly health: () => readonly UpstreamHealth[];
}

/** Most retries saved, and those at the start. */
const savedRetries = 10;

/** @param id of the model, for signals */
export const newMember = (id: string, part: Part, { clock }: { readonly clock: Clock }): Member => {
  const breaker = new Breaker(clock, (isOpen) => {
    const names = { model: id, upstream: member.name };
    if (isOpen) publish('upstream.opened', { ...names, reason: member.failure?.reason ?? '' });
    else publish('upstream.closed', names);
  });
  const member: Member = { ...part, failure: null, breaker };
  return member;
};

/** By priority, then weight (contract L.2). Requests name the model as the first member does. */
export const balanced = (members: readonly Member[], clock: Clock): Balanced => {
  const group: Group = { members, rotation: new Rotation(), retries: new RetryBudget(savedRetries) };
  return { upstream: upstreamOf(group), health: () => members.map((member) => healthOf(member, clock)) };
};

const healthOf = ({ name, breaker }: Member, clock: Clock): UpstreamHealth => {
  const { state, freeInMs } = breaker;
  return { name, state, until: freeInMs === 0 ? null : clock.wall() + freeInMs };
};

const upstreamOf = (group: Group): Upstream => {
  const { members } = group;
  const [first] = members as readonly [Member];
  const all = (has: (upstream: Upstream) => unknown): boolean => members.every(({ upstream }) => has(upstream));
  const bodyFor = bodiesFor(first.model);
  const requestFor = <T extends { readonly model: string }>(
    request: T | WrittenRequest,
    member: Member,
  ): T | WrittenRequest => {
    const { model } = member;
    return isWritten(request as WrittenRequest)
      ? { model, written: [(request as WrittenRequest).written[members.indexOf(member)]!] }
      : { ...request, model };
  };
  const { asSent } = members.map(({ upstream }) => upstream).find((upstream) => upstream.asSent) ?? {};
  const leastTokens = Math.max(...members.map(({ upstream }) => upstream.leastTokens ?? 1));
  return {
    ...(asSent !== undefined && { asSent }),
    ...(leastTokens > 1 && { leastTokens }),
    answer: (request, options) =>
      whole(ableTo(group, request), options, (member, own) => member.upstream.answer(requestFor(request, member), own)),
    stream: (request, options) =>
      streamed(ableTo(group, request), options, (member) =>
        member.upstream.stream(requestFor(request, member), options),
      ),
    ...(all(({ inexpressible }) => inexpressible) && {
      inexpressible: (request) => {
        const found = members.map(({ upstream }) => upstream.inexpressible!(request));
        return found.includes(null) ? null : found[0]!;
      },
    }),
    ...(all(({ countTokens }) => countTokens) && {
      countTokens: (request, options) =>
        whole(group, options, async (member, own) => member.upstream.countTokens!(requestFor(request, member), own)),
    }),
    ...(all(({ written }) => written) && {
      written: (request, purpose) =>
        members.flatMap((member) =>
          purpose === 'count' || isAble(member, request as GenerateRequest)
            ? member.upstream.written!({ ...request, model: member.model }, purpose)
            : [null],
        ),
    }),
    passing: Object.fromEntries(
      Object.keys(first.upstream.passing ?? {})
        .filter((api) => all(({ passing }) => passing?.[api as PassingApi]))
        .map((api) => [api, passingOf(group, bodyFor, api as PassingApi)]),
    ),
    close: async () => {
      await Promise.all(members.map(({ upstream }) => upstream.close()));
    },
  };
};

/** Never empty: such a request was refused. */
const ableTo = (group: Group, request: GenerateRequest | WrittenRequest): Group => {
  const { members } = group;
  const able = members.filter((member, index) =>
    isWritten(request) ? request.written[index] !== null : isAble(member, request),
  );
  return able.length === members.length ? group : { ...group, members: able };
};

const isAble = ({ upstream }: Member, request: GenerateRequest): boolean =>
  (upstream.inexpressible?.(request) ?? null) === null;

const agreed = ([first, ...others]: readonly (string | undefined)[]): string | undefined =>
  others.every((each) => each === first) ? first : undefined;

type PassingApi = keyof NonNullable<Upstream['passing']>;

const passingOf = (group: Group, bodyFor: ReturnType<typeof bodiesFor>, api: PassingApi): MessagesPassing => ({
  maximum: agreed(group.members.map(({ upstream }) => upstream.passing?.[api]?.maximum)),
  answer: (request, options) =>
    whole(group, options, (member, own) => member.upstream.passing![api]!.answer(bodyFor(request, member), own)),
  stream: (request, options) =>
    streamed(group, options, (member) => member.upstream.passing![api]!.stream(bodyFor(request, member), options)),
  // Asked of messages alone.
  countTokens: (request, options) =>
    whole(group, options, (member, own) =>
      member.upstream.passing!.messages!.countTokens(bodyFor(request, member), own),
    ),
});

const modelName = Buffer.from('model');

const bodiesFor =
  (known: string) =>
  (request: PassedRequest, { model }: Member): PassedRequest => {
    if (model === known) return request;
    lentDocument.scanAny(request.body);
    const named = lentDocument.replaced(lentDocument.member(0, modelName), JSON.stringify(model));
    return { ...request, body: edited(request.body, [named]) };
  };

/** @param ask gets the options that report that this upstream has begun, long before some answers end */
const whole = async <T>(
  group: Group,
  options: GenerateOptions,
  ask: (member: Member, own: GenerateOptions) => Promise<T>,
): Promise<T> => {
  const { attempt, value } = await firstOf(group, options.signal, (member, begun) => {
    options.counted?.(noTokens);
    return ask(member, { ...options, began: () => begun.began() });
  });
  attempt.answered();
  return value;
};

/** A stream begins with its first piece; until then the next upstream can take over. */
const streamed = <T>(
  group: Group,
  { signal, counted }: GenerateOptions,
  ask: (member: Member) => AsyncIterable<T>,
): AsyncIterable<T> => {
  // Holds the request; released as soon as no other upstream can need it.
  let asking: typeof ask | null = ask;
  const begin = async (): Promise<Begun<T>> => {
    const begun = await firstOf(group, signal, async (member) => {
      counted?.(noTokens);
      const pieces = asking!(member)[Symbol.asyncIterator]();
      return { pieces, first: await pieces.next() };
    });
    asking = null;
    return begun;
  };
  return piecesOf(begin);
};

type Begun<T> = Asked<{ readonly pieces: AsyncIterator<T>; readonly first: IteratorResult<T> }>;

async function* piecesOf<T>(begin: () => Promise<Begun<T>>): AsyncGenerator<T, void, undefined> {
  const { member, attempt, value } = await begin();
  const { pieces, first } = value;
  attempt.began();
  try {
    for (let step = first; step.done !== true; step = await pieces.next()) yield step.value;
  } catch (error) {
    tell(member, attempt, error);
    throw error;
  } finally {
    // A reader that leaves early was answered until then.
    attempt.answered();
    await pieces.return?.();
  }
}
