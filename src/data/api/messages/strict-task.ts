import type { Refusal } from '../../../errors.ts';
import { metadataOf } from '../../../rules/text/body-text.ts';
import { bodyRefusal } from '../../request/body-refusal.ts';
import type { StrictTask } from '../../request/task.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { estimateInputTokens } from '../../upstream/estimate.ts';
import { generateRequest } from './generate-request.ts';
import { contextRefusal, modelRefusal } from './messages-model-rules.ts';
import type { MessagesBody } from './messages-schema.ts';

export const strictTask = (
  body: MessagesBody,
  hosted: ConnectedModel,
  metadata: StrictTask['metadata'] = metadataOf(body),
): StrictTask | Refusal => {
  const { model, upstream } = hosted;
  const refused = modelRefusal(body, model);
  if (refused !== null) return refused;
  const request = generateRequest(body, hosted);
  // As sent: paths of merged messages differ.
  const strange = upstream.inexpressible?.({ ...request, messages: body.messages });
  if (strange != null) return bodyRefusal(body, strange);
  const estimatedTokens = estimateInputTokens(request);
  const task = { upstream, request, metadata, estimatedTokens, maxTokens: body.max_tokens };
  return contextRefusal(body, estimatedTokens, model) ?? task;
};
