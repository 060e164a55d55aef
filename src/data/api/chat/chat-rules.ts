import type { Refusal } from '../../../errors.ts';
import { bodyRefusal } from '../../request/body-refusal.ts';
import type { RequestRules } from '../../request/prepare.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { translatedRules } from '../translation/translated-task.ts';
import { chatBody } from './chat-schema.ts';
import { chatToMessages } from './chat-to-messages.ts';
import { type ChatSaid, passingChat } from './passing-rules.ts';

/** Only deterministic models can honour a seed (contract G.6). */
const seedRefusal = (seed: number | null | undefined, { upstream }: ConnectedModel): Refusal | null => {
  if (seed == null || upstream.repeatable === true) return null;
  const message = 'The model does not repeat itself.';
  return bodyRefusal({ seed }, { code: 'unsupported_parameter', path: ['seed'], message });
};

export const chatRules: RequestRules<ChatSaid> = {
  passing: passingChat,
  strict: translatedRules({
    schema: chatBody,
    translate: chatToMessages,
    maximumOf: ({ max_completion_tokens: most, max_tokens: old }) => most ?? old,
    said: ({ stream_options: options }) => ({ includeUsage: options?.include_usage === true }),
    refusal: ({ seed }, hosted) => seedRefusal(seed, hosted),
  }),
};
