import type { Refusal } from '../../errors.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { estimateInputTokens } from '../../upstream/estimate.ts';
import { bodyRefusal } from '../body-refusal.ts';
import type { StrictTask } from '../route/task.ts';
import { generateRequest } from './generate-request.ts';
import { contextRefusal, modelRefusal } from './messages-model-rules.ts';
import type { MessagesBody } from './messages-schema.ts';

/** Judges a valid body by its model (contract F.2). */
export const strictTask = (body: MessagesBody, hosted: ConnectedModel): StrictTask | Refusal => {
  const { model, upstream } = hosted;
  const refused = modelRefusal(body, model);
  if (refused !== null) return refused;
  const request = generateRequest(body, hosted);
  // As they were sent: places in merged messages are not those that the caller knows.
  const strange = upstream.inexpressible?.({ ...request, messages: body.messages });
  if (strange != null) return bodyRefusal(body, strange);
  const estimatedTokens = estimateInputTokens(request);
  return (
    contextRefusal(body, estimatedTokens, model) ?? { upstream, request, estimatedTokens, maxTokens: body.max_tokens }
  );
};
