import { z } from 'zod';
import { isRefusal } from '../../../errors.ts';
import { failure } from '../../../http/error-envelopes.ts';
import { type Call, type Reply, type Route, route } from '../../../http/route.ts';
import type { ProjectPrincipal } from '../../access/principal.ts';
import { noPolicies, type PolicyGuard } from '../../policy/guard.ts';
import { passedHeaders } from '../../reply/passed-headers.ts';
import { tellOperator, upstreamRefusal } from '../../reply/upstream-refusal.ts';
import { admission, needOf, type Task } from '../../request/admission.ts';
import { askedOf, type LargeBody, type ReadBody, readHere } from '../../request/body-reader.ts';
import { callErrors, foreignErrors } from '../../request/call-errors.ts';
import { either } from '../../request/either.ts';
import { bodyLimit } from '../../request/inference-route.ts';
import { type LargeBodies, withLarge } from '../../request/large-bodies.ts';
import type { Models } from '../../request/named-model.ts';
import { policed, viewOf } from '../../request/policed.ts';
import { bytesOf, subjectOf } from '../../request/subject.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import type { GenerateOptions, MessagesPassing } from '../../upstream/port.ts';
import { type CountRest, countReading } from './count-reading.ts';
import { passedNames } from './messages.ts';
import { type MessagesCount, messagesCount } from './messages-schema.ts';
import { passingCount } from './passing-schema.ts';
import type { PassedCount } from './read-messages.ts';

const tokenCount = z.object({ input_tokens: z.int().min(0) }).meta({ id: 'TokenCount' });

type CountInput = ReadBody<CountRest, PassedCount, MessagesPassing>;
type Principled = Call<ProjectPrincipal, Record<string, never>, Record<string, never>, unknown, undefined>;

/** `POST /v1/messages/count_tokens` (contract G.1). Takes no tokens of the limits. */
export const countTokensRoute = (
  models: Models,
  policies: PolicyGuard = noPolicies,
  large?: Pick<LargeBodies, 'read'>,
): Route => {
  const reading = countReading(models);
  const { resolve } = admission<CountRest, MessagesCount, PassedCount>(models, policies, reading.judge);
  const { reader } = reading;
  return route<ProjectPrincipal, Record<string, never>, Record<string, never>, CountInput | LargeBody>({
    method: 'POST',
    path: '/v1/messages/count_tokens',
    operation: 'countMessageTokens',
    summary: 'Count the input tokens of a conversation',
    tag: 'Inference',
    family: 'messages',
    access: { credential: 'project', permission: 'inference:create', apiKeyHeader: true },
    body: {
      schema: either('CountMessageTokensRequest', messagesCount, passingCount),
      read: readHere(reader, large !== undefined),
    },
    bodyLimit,
    replies: { 200: { description: 'The count', schema: tokenCount } },
    errors: [...callErrors, 'thread_unsupported_request'],
    foreignErrors,
    handle: withLarge(large, { api: 'count', family: 'messages', models, reader }, (call, body) => {
      const { head, principal } = call;
      const { requestId } = head;
      const task = resolve({ body, principal });
      if (isRefusal(task)) return failure(task, 'messages', requestId);
      const { policy_ids: named } = askedOf(body);
      const { hosted } = task;
      const { id: model } = hosted.model;
      call.watched?.aims(model);
      // The bytes of the body are valid for this step only.
      const outgoing = bytesOf(task);
      const count = () => counted({ call, hosted, task, passing: body.passed?.passing ?? null, outgoing });
      if (task.policies === null) return count();
      const text = { endpoint: 'messages', model, stream: false } as const;
      const view = viewOf(subjectOf(task, hosted.model), () => outgoing, text, principal);
      const asked = { policies: task.policies, caller: principal, named: named ?? [], requestId, view };
      return policed(policies, asked, { endpoint: 'messages', family: 'messages' }, count);
    }),
  });
};

interface Counting {
  readonly call: Principled;
  readonly hosted: ConnectedModel;
  readonly task: Task<PassedCount>;
  /** Null if the body does not pass. */
  readonly passing: MessagesPassing | null;
  readonly outgoing: Buffer;
}

const counted = async ({ call, hosted, task, passing, outgoing }: Counting): Promise<Reply> => {
  const { head, signal } = call;
  const options: GenerateOptions = { signal, requestId: head.requestId, trace: call.trace };
  const { estimatedTokens } = needOf(task);
  try {
    if (task.strict !== null)
      return reply((await hosted.upstream.countTokens?.(task.strict.request, options)) ?? estimatedTokens);
    const headers = passedHeaders(head, passedNames);
    if (isRefusal(headers)) return failure(headers, 'messages', head.requestId);
    const asked = { body: outgoing, id: '', model: '', headers, hidesUsage: false };
    return reply((await passing!.countTokens(asked, options)) ?? estimatedTokens);
  } catch (error) {
    const refused = signal.aborted ? null : upstreamRefusal(error);
    if (refused === null) throw error;
    tellOperator(error, head.requestId);
    return failure(refused, 'messages', head.requestId);
  }
};

const reply = (tokens: number): Reply => ({ status: 200, body: { input_tokens: tokens } });
