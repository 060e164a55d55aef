import { type MessageValues, messageType, type RequestValues } from '../language/variables.ts';
import type { MessagePieces } from './block-text.ts';
import { allTexts, type RequestPieces } from './body-text.ts';
import { lazily } from './lazy.ts';
import { type Copy, lines, textOf } from './normal-text.ts';
import type { Beside } from './request-text.ts';

interface Source {
  readonly request: Beside;
  readonly pieces: () => RequestPieces;
  readonly copy: Copy;
}

/** Unknown roles count as users. */
const others: ReadonlySet<string> = new Set(['assistant', 'system', 'developer', 'tool', 'function']);

const saidByUsers = ({ pieces }: Source): readonly (readonly string[])[] =>
  pieces()
    .messages.filter(({ role, said }) => !others.has(role) && said.length > 0)
    .map(({ text, said }) => said.map((at) => text[at]!));

/** Joins messages, too, because a word may be split across two. */
const foldedText = ({ copy, pieces }: Source, system: string): string => {
  const { messages, others } = pieces();
  const [written, besides]: [string[], string[]] = [[], []];
  for (const { text, beside } of messages) {
    for (const each of text) written.push(each);
    for (const each of beside) besides.push(each);
  }
  const said = lines(copy.written(written), copy.apart(besides));
  return lines(lines(system, said), copy.apart(others));
};

const Message = lazily<
  { readonly copy: Copy; readonly message: MessagePieces & { readonly role: string } },
  MessageValues
>({
  role: ({ message }) => message.role,
  text: ({ copy, message }) => textOf(copy, message),
});

/** The variables under `request` (contract H) in one copy. */
export const RequestFields = lazily<Source, RequestValues>({
  endpoint: ({ request }) => request.endpoint,
  model: ({ request }) => request.model,
  max_tokens: ({ request }) => BigInt(request.maxTokens),
  input_tokens: ({ request }) => BigInt(request.inputTokens),
  message_count: ({ pieces }) => BigInt(pieces().messages.length),
  tool_count: ({ pieces }) => BigInt(pieces().toolNames.length),
  stream: ({ request }) => request.stream,
  has_images: ({ pieces }) => pieces().images,
  has_documents: ({ pieces }) => pieces().documents,
  has_thinking: ({ pieces }) => pieces().thinking,
  system: ({ pieces, copy }) => textOf(copy, pieces().system),
  messages: ({ pieces, copy }) =>
    pieces().messages.map((message) => new messageType.Record(new Message({ copy, message }))),
  text: (source, own) =>
    source.copy.isFolded ? foldedText(source, own.system) : source.copy.apart(allTexts(source.pieces())),
  user_text: (source) => source.copy.written(saidByUsers(source).flat()),
  // Unspecified: messages with tool results only are passed over.
  last_user_text: (source) => source.copy.written(saidByUsers(source).at(-1) ?? []),
  tool_names: ({ pieces, copy }) => pieces().toolNames.map((name) => copy.one(name)),
  metadata: ({ pieces, copy }) => new Map(pieces().metadata.map(([key, value]) => [copy.one(key), copy.one(value)])),
});
