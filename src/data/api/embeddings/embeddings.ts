import { type Refusal, refusal } from '../../../errors.ts';
import type { Route } from '../../../http/route.ts';
import type { EffectivePolicies } from '../../policy/effective.ts';
import type { AnswerForm } from '../../reply/answer-form.ts';
import { type InferenceOptions, inferenceRoute } from '../../request/inference-route.ts';
import { type EmbeddingsSaid, embeddingsRules } from './embeddings-rules.ts';
import { embeddingsAnswer, embeddingsBody } from './embeddings-schema.ts';

/** `POST /v1/embeddings` (contract G.9). */
export const embeddingsRoute = (options: InferenceOptions): Route =>
  inferenceRoute(options, {
    path: '/v1/embeddings',
    operation: 'createEmbedding',
    summary: 'Make embeddings of texts',
    family: 'chat',
    name: 'embeddings',
    request: embeddingsBody,
    response: embeddingsAnswer,
    answers: { description: 'The embeddings', media: 'application/json' },
    rules: embeddingsRules,
    refusal: unreadable,
    form: () => form,
  });

/** Nobody can read tokens. */
const unreadable = ({ hasTokens }: EmbeddingsSaid, { request }: EffectivePolicies): Refusal | null => {
  if (!hasTokens || !request.some(({ isEnforcing }) => isEnforcing)) return null;
  const message = 'input: The policies in force cannot read tokens. Send text.';
  return refusal('unsupported_parameter', { message, param: 'input' });
};

const never = (): never => {
  throw new Error('Embeddings are neither translated nor streamed.');
};
const form: AnswerForm = {
  family: 'chat',
  reads: 'input',
  whole: never,
  events: never,
  ping: '',
  error: never,
};
