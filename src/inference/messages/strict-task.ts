import { type Refusal, refusal } from '../../errors.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { estimateInputTokens } from '../../upstream/estimate.ts';
import type { GenerateRequest, Upstream } from '../../upstream/port.ts';
import { generateRequest } from './generate-request.ts';
import { contextRefusal, modelRefusal } from './messages-model-rules.ts';
import type { MessagesBody } from './messages-schema.ts';

/** A request that its model can honour, in Weir's own form. */
export interface StrictTask {
  readonly upstream: Upstream;
  readonly request: GenerateRequest;
  readonly estimatedTokens: number;
  readonly maxTokens: number;
}

/** What is reserved for a request: its input, estimated, and the longest answer that it allows (contract F.4). */
export const tokensOf = (task: Pick<StrictTask, 'estimatedTokens' | 'maxTokens'>): number =>
  task.estimatedTokens + task.maxTokens;

/** The refusal of a request that names policies: there are none in force yet, so no organization has them (contract B.6). */
export const policyRefusal = (policies: readonly string[] | null | undefined): Refusal | null =>
  policies?.length ? refusal('policy_not_found', { param: 'policy_ids' }) : null;

/** Judges a valid body by its model (contract F.2). */
export const strictTask = (body: MessagesBody, hosted: ConnectedModel): StrictTask | Refusal => {
  const { model, upstream } = hosted;
  const refused = modelRefusal(body, model);
  if (refused !== null) return refused;
  const request = generateRequest(body, hosted);
  const estimatedTokens = estimateInputTokens(request);
  return contextRefusal(estimatedTokens, model) ?? { upstream, request, estimatedTokens, maxTokens: body.max_tokens };
};
