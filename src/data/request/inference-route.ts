import type { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { type Code, isRefusal } from '../../errors.ts';
import { failure } from '../../http/error-envelopes.ts';
import { type Family, type Head, type Metered, type Reply, type Route, route } from '../../http/route.ts';
import type { ProjectPrincipal } from '../access/principal.ts';
import { Account } from '../account/account.ts';
import { noPolicies, type PolicyGuard } from '../policy/guard.ts';
import type { AnswerForm } from '../reply/answer-form.ts';
import type { AnswerWatch } from '../reply/answer-watch.ts';
import { type After, realAfter } from '../reply/event-output.ts';
import { passedHeaders } from '../reply/passed-headers.ts';
import { abandoned, passedReply, translatedReply } from '../reply/reply.ts';
import { admission, needOf } from './admission.ts';
import { type Asked, askedOf, type LargeBody, type ReadBody, readHere } from './body-reader.ts';
import { callErrors, foreignErrors } from './call-errors.ts';
import { type LargeBodies, withLarge } from './large-bodies.ts';
import type { Models } from './named-model.ts';
import { copyOf, policed, viewOf } from './policed.ts';
import type { Reading } from './reading.ts';
import { bytesOf, imagesOf, searchesOf, subjectOf } from './subject.ts';
import { tokensOf } from './task.ts';

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

export interface InferenceApi<Rest extends Asked, Strict extends Rest, Fields extends Asked> {
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly family: Family;
  /** In rules of policies and accounts. */
  readonly name: Metered['api'];
  readonly request: z.ZodType;
  readonly response: z.ZodType;
  /** Beyond the common codes. */
  readonly errors?: readonly Code[];
  readonly reading: Reading<Rest, Strict, Fields>;
  /** Must not hold the request, which may be large. */
  readonly form: (body: ReadBody<Rest, Fields>, id: string, head: Head) => AnswerForm;
  /** Passed on to upstreams of the same API (contract L.1). */
  readonly passedHeaders?: readonly string[];
}

export const bodyLimit = 32 * 1024 * 1024;

/** The steps of contract F.2, the same for every API. */
export const inferenceRoute = <Rest extends Asked, Strict extends Rest, Fields extends Asked>(
  { models, policies = noPolicies, large, clock, answerId, after = realAfter }: InferenceOptions,
  api: InferenceApi<Rest, Strict, Fields>,
): Route => {
  const { path, operation, summary, family, request, reading, passedHeaders: passedNames = [] } = api;
  const { tokens, resolve } = admission<Rest, Strict, Fields>(models, policies, reading.judge);
  const timing = { clock, after };
  return route<ProjectPrincipal, Record<string, never>, Record<string, never>, ReadBody<Rest, Fields> | LargeBody>({
    method: 'POST',
    path,
    operation,
    summary,
    tag: 'Inference',
    family,
    access: { credential: 'project', permission: 'inference:create', apiKeyHeader: true },
    body: { schema: request, read: readHere(reading.reader, large !== undefined) },
    bodyLimit,
    replies: {
      200: {
        description: 'The answer; with "stream": true, as server-sent events',
        schema: api.response,
        media: 'application/json, text/event-stream',
      },
    },
    errors: [...callErrors, 'insufficient_credits', ...(api.errors ?? [])],
    foreignErrors,
    tokens,
    handle: withLarge(
      large,
      { api: api.name, family, models, reader: reading.reader },
      (call, body): Reply | Promise<Reply> => {
        const { allowance, head, principal, signal, watched } = call;
        const { requestId } = head;
        const task = resolve({ body, principal });
        if (isRefusal(task)) return failure(task, family, requestId);
        const { model: name, stream, policy_ids: named } = askedOf(body);
        const { model: hosted } = task.hosted;
        const { id: model } = hosted;
        watched?.aims(model);
        const isStreamed = stream === true;
        // The bytes of the body are valid for this step only.
        let outgoing: Buffer | undefined;
        const bytes = (): Buffer => {
          outgoing ??= bytesOf(task);
          return outgoing;
        };

        /** After the policies: reserves tokens and asks the upstream. */
        const answered = (watch: AnswerWatch | null): Reply | Promise<Reply> => {
          const passedOn = task.passed === null ? null : passedHeaders(head, passedNames);
          if (passedOn !== null && isRefusal(passedOn)) return failure(passedOn, family, requestId);
          const need = needOf(task);
          const full = allowance.reserve(tokensOf(need));
          if (full !== undefined) return failure(full, family, requestId);
          const { estimatedTokens, maxTokens } = need;
          const images = imagesOf(task, hosted);
          const searches = searchesOf(task);
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
          };
          const opening = allowance.meter(metered);
          const id = answerId();
          const form = api.form(body, id, head);
          const outgoingBody = task.passed === null ? null : bytes();

          const ask = async (): Promise<Reply> => {
            const opened = await opening;
            if (isRefusal(opened)) return failure(opened, family, requestId);
            // A request whose client left before it was asked is neither asked nor charged.
            if (signal.aborted) return abandoned;
            const meter = watched?.asks(metered, opened) ?? opened;
            const contextLength = hosted.context_length;
            // Only now is the span of the upstream known.
            const { trace, hold } = call;
            const account = new Account({ allowance, meter, need, contextLength, searches });
            const generation = { form, estimatedTokens, account, hold, requestId, trace, signal, watch };
            if (task.passed === null) return translatedReply(task.strict, isStreamed, generation, timing);
            const { passing, hidesUsage } = task.passed;
            const passed = { body: outgoingBody!, id, model: name, headers: passedOn!, hidesUsage };
            return passedReply(passing, passed, isStreamed, generation, timing);
          };
          return ask();
        };

        const { kept } = policies;
        if (task.policies === null && kept === null) return answered(null);
        const text = { endpoint: api.name, model, stream: isStreamed };
        const subject = subjectOf(task, hosted);
        kept?.add(copyOf(subject, bytes, text, { caller: principal, requestId, at: clock.wall() }));
        if (task.policies === null) return answered(null);
        const asked = { policies: task.policies, caller: principal, named: named ?? [], requestId };
        const view = viewOf(subject, bytes, text, principal);
        return policed(policies, { ...asked, view }, { endpoint: api.name, family }, answered);
      },
    ),
  });
};
