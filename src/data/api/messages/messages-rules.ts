import type { z } from 'zod';
import type { Refusal } from '../../../errors.ts';
import { Refused } from '../../../http/refused.ts';
import { metadataOf } from '../../../rules/text/body-text.ts';
import { bodyRefusal } from '../../request/body-refusal.ts';
import type { RequestRules } from '../../request/prepare.ts';
import { type Asked, type Judged, preparedStrictly } from '../../request/prepared.ts';
import { withOwnCallIds } from '../../upstream/call-ids.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { estimateInputTokens } from '../../upstream/estimate.ts';
import type { GenerateRequest } from '../../upstream/port.ts';
import { countRequest, generateRequest } from './generate-request.ts';
import { contextRefusal, modelRefusal } from './messages-model-rules.ts';
import { type MessagesBody, type MessagesCount, messagesBody, messagesCount } from './messages-schema.ts';
import { type MessagesSaid, passingMessages } from './passing-rules.ts';
import { passingBody, passingCount } from './passing-schema.ts';
import { strictCheck } from './strict-check.ts';

/** By the model's rules. @param metadata for policies */
export const judgedMessages = (
  body: MessagesBody,
  hosted: ConnectedModel,
  metadata: Judged['metadata'] = metadataOf(body),
): Judged | Refusal => {
  const { model, upstream } = hosted;
  const refused = modelRefusal(body, model);
  if (refused !== null) return refused;
  const request = generateRequest(body, hosted);
  // As sent: paths of merged messages differ.
  const strange = upstream.inexpressible?.({ ...request, messages: body.messages });
  if (strange != null) return bodyRefusal(body, strange);
  const estimatedTokens = estimateInputTokens(upstream.asSent?.(request) ?? request);
  const judged = { request, metadata, estimatedTokens, maxTokens: request.max_tokens };
  return contextRefusal(body, estimatedTokens, model) ?? judged;
};

/** A request without what only an answer needs. */
const judgedCount = (body: MessagesCount, hosted: ConnectedModel): Judged | Refusal => {
  const refused = modelRefusal(body, hosted.model);
  if (refused !== null) return refused;
  const request = countRequest(body, hosted) as GenerateRequest;
  const estimatedTokens = estimateInputTokens(hosted.upstream.asSent?.(request) ?? request);
  return { request, metadata: metadataOf(body), estimatedTokens, maxTokens: body.max_tokens ?? 0 };
};

const rulesOf = <Body extends MessagesCount>(
  schema: z.ZodType<Body>,
  passing: z.ZodObject,
  judged: (body: Body, hosted: ConnectedModel) => Judged | Refusal,
): RequestRules<MessagesSaid> => {
  const check = strictCheck(schema, 'messages');
  return {
    passing: passingMessages(passing),
    strict: (value, hosted) => {
      const checked = check(value);
      if (checked instanceof Refused) return checked;
      const sent = checked as Body;
      const body = { ...sent, messages: withOwnCallIds(sent.messages) };
      const asked: Asked<MessagesSaid> = {
        model: body.model,
        isStreamed: body.stream === true,
        named: body.policy_ids ?? [],
        said: {
          managesContext: body.context_management != null,
          omitsThinking: body.thinking?.display === 'omitted',
        },
      };
      return preparedStrictly(asked, hosted, (of) => judged(body, of));
    },
  };
};

export const messagesRules = rulesOf(messagesBody, passingBody, (body, hosted) => judgedMessages(body, hosted));
export const countRules = rulesOf(messagesCount, passingCount, judgedCount);
