import type { Refusal } from '../../errors.ts';
import type { Route } from '../../http/route.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { bodyRefusal } from '../body-refusal.ts';
import { bodyReader } from '../route/body-reader.ts';
import { type InferenceOptions, inferenceRoute } from '../route/inference-route.ts';
import { inPlace } from '../translation/translated.ts';
import { judgeTranslated, type TranslatedInput, translatingReader } from '../translation/translated-task.ts';
import { chatForm } from './chat-answer.ts';
import { chatCompletion } from './chat-response-schema.ts';
import { type ChatBody, chatBody } from './chat-schema.ts';
import { chatToMessages } from './chat-to-messages.ts';
import type { PassedChat } from './passing-rules.ts';
import { passingChat } from './read-passing.ts';

/** A request in Weir's own form, with what its answer repeats. */
interface ChatInput extends TranslatedInput {
  readonly seed: number | null;
  readonly includeUsage: boolean;
}

/** `POST /v1/chat/completions` (contract G.6): the answer of a model, whole or as server-sent events. */
export const chatRoute = (options: InferenceOptions): Route =>
  inferenceRoute<ChatInput, PassedChat>(options, {
    path: '/v1/chat/completions',
    operation: 'createChatCompletion',
    summary: 'Generate an answer to a conversation, as chat completions',
    family: 'chat',
    name: 'chat.completions',
    request: chatBody,
    response: chatCompletion,
    read: bodyReader(options.models, {
      strict: translatingReader(options.models, {
        schema: chatBody,
        translate: chatToMessages,
        maximumOf: ({ max_completion_tokens: most, max_tokens: old }) => most ?? old,
        extra: ({ seed, stream_options: options }: ChatBody) => ({
          seed: seed ?? null,
          includeUsage: options?.include_usage === true,
        }),
      }),
      passed: passingChat,
    }),
    judge: (input, hosted) => seedRefusal(input.seed, hosted) ?? judgeTranslated(input, hosted),
    form: ({ strict, passed }, id) => {
      const { model, includeUsage } = strict ?? passed.fields;
      const created = Math.floor(options.clock.wall() / 1000);
      const form = chatForm({ id, model, created, includeUsage });
      if (strict === null) return form;
      // Taken out, so that the request is not held until the answer has ended.
      const { placeOf } = strict;
      return Object.assign(form, { inPlace: (refused: Refusal) => inPlace(refused, placeOf) });
    },
  });

/** Only a model that repeats itself anyway keeps the promise of a seed (contract N2). */
const seedRefusal = (seed: number | null, { upstream }: ConnectedModel): Refusal | null => {
  if (seed === null || upstream.repeatable === true) return null;
  const message = 'The model does not repeat itself.';
  return bodyRefusal({ code: 'unsupported_parameter', path: ['seed'], message, input: seed });
};
