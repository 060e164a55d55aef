import type { Refusal } from '../../../errors.ts';
import { bodyReader } from '../../request/body-reader.ts';
import { bodyRefusal } from '../../request/body-refusal.ts';
import type { Models } from '../../request/named-model.ts';
import type { Reading } from '../../request/reading.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import {
  judgeTranslated,
  restOfTranslated,
  type TranslatedInput,
  type TranslatedRest,
  translatingReader,
} from '../translation/translated-task.ts';
import { type ChatBody, chatBody } from './chat-schema.ts';
import { chatToMessages } from './chat-to-messages.ts';
import type { PassedChat } from './passing-rules.ts';
import { passingChat } from './read-passing.ts';

interface Said {
  readonly seed: number | null;
  readonly includeUsage: boolean;
}
type ChatInput = TranslatedInput & Said;
export type ChatRest = TranslatedRest & Said;

export const chatReading = (models: Models): Reading<ChatRest, ChatInput, PassedChat> => ({
  reader: bodyReader(models, {
    strict: translatingReader({
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
  judge: (input, hosted) => seedRefusal(input, hosted) ?? judgeTranslated(input, hosted),
  rest: (input) => ({ ...restOfTranslated(input), seed: input.seed, includeUsage: input.includeUsage }),
});

/** Only deterministic models can honour a seed (contract G.6). */
const seedRefusal = ({ seed }: Said, { upstream }: ConnectedModel): Refusal | null => {
  if (seed === null || upstream.repeatable === true) return null;
  const message = 'The model does not repeat itself.';
  return bodyRefusal({ seed }, { code: 'unsupported_parameter', path: ['seed'], message });
};
