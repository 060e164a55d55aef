import { type MessageRecord, messageType, type RequestValues } from '../language/variables.ts';
import { type Copy, foldedCopy, lines, normalizedOnce, textOf } from './normal-text.ts';
import type { RequestPieces } from './pieces.ts';
import type { RequestText } from './request-text.ts';

/**
 * The variables under `request` (contract H) in one of the two copies; texts are built when a rule first reads them.
 */
export const requestValues = (
  request: Pick<RequestText, 'endpoint' | 'model' | 'maxTokens' | 'inputTokens' | 'stream'>,
  pieces: () => RequestPieces,
  copy: Copy,
): RequestValues => {
  const system = normalizedOnce(() => textOf(copy, pieces().system));
  const messages = normalizedOnce(() =>
    pieces().messages.map((message): MessageRecord => {
      const whole = normalizedOnce(() => textOf(copy, message));
      return new messageType.Record({
        role: message.role,
        get text() {
          return whole();
        },
      });
    }),
  );
  const toolNames = normalizedOnce(() => [...pieces().toolNames]);
  const others = normalizedOnce(() => copy.apart(pieces().others));
  const text = normalizedOnce(() => {
    if (copy !== foldedCopy) return lines(system(), ...messages().map(({ values }) => values.text), others());
    // Who writes one word in two messages has written one word.
    const all = pieces().messages;
    const written = copy.written(all.flatMap((message) => message.text));
    return lines(system(), written, copy.apart(all.flatMap(({ beside }) => beside)), others());
  });
  const said = normalizedOnce(() =>
    pieces()
      .messages.filter(({ role, said }) => role === 'user' && said.length > 0)
      .map(({ text, said }) => said.map((at) => text[at]!)),
  );
  const userText = normalizedOnce(() => copy.written(said().flat()));
  // Unspecified: a last user message that only returns results of tools. The last words of the user are meant.
  const lastUserText = normalizedOnce(() => copy.written(said().at(-1) ?? []));
  const metadata = normalizedOnce(
    () => new Map(pieces().metadata.map(([key, value]) => [copy.one(key), copy.one(value)])),
  );
  return {
    endpoint: request.endpoint,
    model: request.model,
    max_tokens: BigInt(request.maxTokens),
    input_tokens: BigInt(request.inputTokens),
    get message_count() {
      return BigInt(pieces().messages.length);
    },
    get tool_count() {
      return BigInt(pieces().toolNames.length);
    },
    stream: request.stream,
    get has_images() {
      return pieces().images;
    },
    get has_documents() {
      return pieces().documents;
    },
    get has_thinking() {
      return pieces().thinking;
    },
    get system() {
      return system();
    },
    get text() {
      return text();
    },
    get user_text() {
      return userText();
    },
    get last_user_text() {
      return lastUserText();
    },
    get messages() {
      return messages();
    },
    get tool_names() {
      return toolNames();
    },
    get metadata() {
      return metadata();
    },
  };
};
