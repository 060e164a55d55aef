import type { z } from 'zod';
import type { Api } from '../../apis.ts';
import type { Clock } from '../../clock.ts';
import { type Code, isRefusal, type Refusal } from '../../errors.ts';
import { failure } from '../../http/error-envelopes.ts';
import { type Family, type Head, type Reply, type Route, route } from '../../http/route.ts';
import { spendCodes } from '../access/lack-refusal.ts';
import type { ProjectPrincipal } from '../access/principal.ts';
import { AnswerCount } from '../account/answer-count.ts';
import type { EffectivePolicies } from '../policy/effective.ts';
import { noPolicies, type PolicyGuard } from '../policy/guard.ts';
import type { AnswerForm } from '../reply/answer-form.ts';
import type { AnswerJudge } from '../reply/answer-judge.ts';
import { type After, realAfter } from '../reply/event-output.ts';
import type { Timing } from '../reply/generation.ts';
import { passedHeaders } from '../reply/passed-headers.ts';
import { abandoned, passedReply, translatedReply } from '../reply/reply.ts';
import { type Admitted, admission } from './admission.ts';
import { callErrors, foreignErrors } from './call-errors.ts';
import { inPlace } from './in-place.ts';
import { type InferenceCall, type LargeBodies, type LargeBody, readHere, withLarge } from './large-bodies.ts';
import type { Models } from './named-model.ts';
import { copyOf, policed, viewOf } from './policed.ts';
import { preparing, type RequestRules } from './prepare.ts';
import { type Asked, cutNeed, needOf, type Prepared, translatedRequest, withMaximum } from './prepared.ts';

export interface InferenceOptions {
  readonly models: Models;
  /** Absent in tests. */
  readonly policies?: PolicyGuard;
  /** Absent in tests: the event loop reads them. */
  readonly large?: Pick<LargeBodies, 'read'>;
  readonly clock: Clock;
  readonly answerId: () => string;
  /** Real timers by default. */
  readonly after?: After;
}

/** @typeParam Said what an answer takes from its request */
export interface InferenceApi<Said> {
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly family: Family;
  /** In rules of policies and accounts. */
  readonly name: Api;
  readonly request: z.ZodType;
  readonly response: z.ZodType;
  /** By default whole or streamed. */
  readonly answers?: { readonly description: string; readonly media: string };
  /** Beyond the common codes. */
  readonly errors?: readonly Code[];
  readonly rules: RequestRules<Said>;
  /** By the policies in force, before they judge it. */
  readonly refusal?: (said: Said, policies: EffectivePolicies) => Refusal | null;
  /** Must not hold the request, which may be large. */
  readonly form: (asked: Asked<Said>, id: string, head: Head) => AnswerForm;
  /** Passed on to upstreams of the same API (contract L.1). */
  readonly passedHeaders?: readonly string[];
}

const streamed = {
  description: 'The answer; with "stream": true, as server-sent events',
  media: 'application/json, text/event-stream',
};

export const bodyLimit = 32 * 1024 * 1024;

interface Way<Said> {
  readonly api: InferenceApi<Said>;
  readonly timing: Timing;
  readonly answerId: () => string;
}

/** One request after its policies: opens its account, asks the upstream. Not kept once it is asked. */
class Asking<Said> {
  readonly #way: Way<Said>;
  readonly #call: InferenceCall<unknown>;
  readonly #asked: Prepared<Said>;
  readonly #admitted: Admitted;

  constructor(way: Way<Said>, call: InferenceCall<unknown>, asked: Prepared<Said>, admitted: Admitted) {
    this.#way = way;
    this.#call = call;
    this.#asked = asked;
    this.#admitted = admitted;
  }

  /** @param watch null without response policies */
  answer(watch: AnswerJudge | null): Reply | Promise<Reply> {
    const { family, passedHeaders: passedNames = [] } = this.#way.api;
    const { head } = this.#call;
    const headers = 'body' in this.#admitted.sent ? passedHeaders(head, passedNames) : {};
    if (isRefusal(headers)) return failure(headers, family, head.requestId);
    return this.#ask(headers, watch);
  }

  async #ask(headers: Readonly<Record<string, string>>, watch: AnswerJudge | null): Promise<Reply> {
    const { api, timing, answerId } = this.#way;
    const { allowance, head, signal, watched } = this.#call;
    const { hosted, sent } = this.#admitted;
    const { requestId } = head;
    const {
      model: name,
      isStreamed,
      estimatedTokens,
      maxTokens,
      images,
      searches,
      placeOf,
      longest = maxTokens,
      cut,
    } = this.#asked;
    const { id: model, context_length: contextLength } = hosted.model;
    const requestedModel = name === model ? undefined : name;
    const metered = {
      requestId,
      model,
      requestedModel,
      api: api.name,
      estimatedTokens,
      images,
      searches,
      maxTokens,
      longest,
      cut,
    };
    const opened = await allowance.open(metered);
    if (isRefusal(opened)) return failure(opened, api.family, requestId);
    // A request whose client left before it was asked is neither asked nor charged.
    if (signal.aborted) return abandoned;
    const meter = watched?.asks(metered, opened) ?? opened;
    const { maximum } = opened;
    const given = maximum === null || cut === undefined ? sent : withMaximum(sent, cut, maximum);
    const need = maximum === null || cut === undefined ? needOf(this.#asked) : cutNeed(this.#asked, cut, maximum);
    const account = new AnswerCount({ account: opened, meter, need, contextLength, searches });
    const id = answerId();
    const form = placed(api.form(this.#asked, id, head), placeOf);
    // Only now is the span of the upstream known.
    const { trace, hold } = this.#call;
    const generation = { form, estimatedTokens, account, hold, requestId, trace, signal, watch };
    const { upstream } = hosted;
    if (!('body' in given)) {
      const request = translatedRequest(given, hosted);
      return translatedReply({ upstream, request }, isStreamed, generation, timing);
    }
    const { body, hidesUsage, addsReasoning, choices } = given;
    const passed = { body, id, model: name, headers, hidesUsage, addsReasoning, choices };
    return passedReply(upstream.passing![api.rules.passing.as]!, passed, isStreamed, generation, timing);
  }
}

/** The steps of contract F.2, the same for every API. */
export const inferenceRoute = <Said>(
  { models, policies: guard = noPolicies, large, clock, answerId, after = realAfter }: InferenceOptions,
  api: InferenceApi<Said>,
): Route => {
  const { path, operation, summary, family, request, name: endpoint, rules } = api;
  const { tokens, resolve } = admission(models, guard, rules.passing.as);
  const way = { api, timing: { clock, after }, answerId };

  const handle = (call: InferenceCall<unknown>, asked: Prepared<Said>): Reply | Promise<Reply> => {
    const { head, principal } = call;
    const { requestId } = head;
    const admitted = resolve(asked, principal);
    if (isRefusal(admitted)) return failure(admitted, family, requestId);
    const { policies, hosted } = admitted;
    const unread = policies === null ? null : (api.refusal?.(asked.said, policies) ?? null);
    if (unread !== null) return failure(unread, family, requestId);
    call.watched?.aims(hosted.model.id);
    const asking = new Asking(way, call, asked, admitted);
    guard.kept?.add(copyOf(asked, admitted, endpoint, { caller: principal, requestId, at: clock.wall() }));
    if (policies === null) return asking.answer(null);
    const view = viewOf(asked, admitted, endpoint, principal);
    const judged = { policies, caller: principal, named: asked.named, requestId, view };
    return policed(guard, judged, { endpoint, family }, (watch) => asking.answer(watch));
  };

  const prepare = preparing(models, rules);
  return route<ProjectPrincipal, Record<string, never>, Record<string, never>, Prepared<Said> | LargeBody>({
    method: 'POST',
    path,
    operation,
    summary,
    tag: 'Inference',
    family,
    access: { credential: 'project', permission: 'inference:create', apiKeyHeader: true },
    body: { schema: request, read: readHere(prepare, large !== undefined) },
    bodyLimit,
    replies: {
      200: { schema: api.response, ...(api.answers ?? streamed) },
    },
    errors: [...callErrors, 'insufficient_credits', ...spendCodes, ...(api.errors ?? [])],
    foreignErrors,
    tokens,
    handle: withLarge(large, { api: endpoint, family }, handle),
  });
};

/** With refusals of the upstream at the places of the client's request. */
const placed = (form: AnswerForm, placeOf: Asked<unknown>['placeOf']): AnswerForm =>
  placeOf === undefined ? form : Object.assign(form, { inPlace: (refused: Refusal) => inPlace(refused, placeOf) });
