import type { Refusal } from '../../../errors.ts';
import { bodyRefusal } from '../../request/body-refusal.ts';
import type { Model } from '../../upstream/models/models.ts';
import { functionsIn, isWebSearch } from '../../upstream/web-search.ts';
import { isPrefilled } from './conversation.ts';
import { mediaRefusal } from './media-rules.ts';
import type { MessagesCount } from './messages-schema.ts';
import { samplingRefusal } from './sampling-rules.ts';
import { thinkingBudget, thinkingType } from './thinking-schema.ts';

/** The first rule of the model that a valid body breaks (contract A.4, G.1, G.2). */
export const modelRefusal = (body: MessagesCount, model: Model): Refusal | null =>
  outputRefusal(body, model) ??
  samplingRefusal(body, model.sampling_limits) ??
  featureRefusal(body, model) ??
  prefillRefusal(body, model) ??
  thinkingRefusal(body, model) ??
  mediaRefusal(body, model.input_modalities);

const outputRefusal = (body: MessagesCount, { max_output_length: most }: Model): Refusal | null => {
  if (body.max_tokens == null || body.max_tokens <= most) return null;
  const message = `Must be at most ${most} for this model.`;
  return bodyRefusal(body, { path: ['max_tokens'], message, type: 'less_than_equal', ctx: { le: most } });
};

const featureRefusal = (body: MessagesCount, { supported_features: features }: Model): Refusal | null => {
  const refuse = (path: readonly (string | number)[], what: string) =>
    bodyRefusal(body, { code: 'unsupported_parameter', path, message: `The model does not support ${what}.` });
  const tools = body.tools ?? [];
  if (!features.includes('tools') && functionsIn(tools) !== undefined) return refuse(['tools'], 'tools');
  const search = features.includes('web_search') ? -1 : tools.findIndex(isWebSearch);
  if (search !== -1) return refuse(['tools', search, 'type'], 'web_search');
  if (body.output_config?.format != null && !features.includes('structured_outputs')) {
    return refuse(['output_config', 'format'], 'structured outputs');
  }
  if (thinkingType(body.thinking) !== 'disabled' && !features.includes('reasoning'))
    return refuse(['thinking'], 'thinking');
  return null;
};

const prefillRefusal = (body: MessagesCount, model: Model): Refusal | null => {
  const { messages } = body;
  if (model.prefill || !isPrefilled(messages)) return null;
  const path = ['messages', messages.length - 1, 'role'];
  const message = 'The last message must not be of the assistant: the model does not continue one.';
  return bodyRefusal(body, { path, message });
};

const thinkingRefusal = (body: MessagesCount, model: Model): Refusal | null => {
  const { thinking, max_tokens } = body;
  const budget = thinkingBudget(thinking, model);
  if (budget === undefined || max_tokens == null || budget < max_tokens) return null;
  const path = ['thinking', 'budget_tokens'];
  const message = `The model thinks with at least ${budget} tokens, and max_tokens must be greater.`;
  return bodyRefusal(body, { path, message });
};

/** Contract F.4. Unspecified: `max_tokens` does not count, since answers stop at the end of the context. */
export const contextRefusal = (
  body: MessagesCount,
  estimatedTokens: number,
  { context_length: most }: Model,
): Refusal | null => {
  if (estimatedTokens <= most) return null;
  const message = `The input is about ${estimatedTokens} tokens long, and the context of the model is ${most}.`;
  return bodyRefusal(body, { code: 'context_length_exceeded', path: ['messages'], message });
};
