import { type MessageRecord, messageType, type RequestValues } from '../language/variables.ts';
import { type Found, read } from './block-text.ts';
import { joined, normal, normalizedOnce } from './normal-text.ts';
import type { RequestText } from './request-text.ts';

/** The variables under `request` (contract H); texts are built when a rule first reads them. */
export const requestValues = (request: RequestText): RequestValues => {
  const found = normalizedOnce(() => request.messages.map(({ content }) => read(content)));
  const system = normalizedOnce(() => joined(read(request.system).text));
  const messages = normalizedOnce(() =>
    found().map(({ text }, at): MessageRecord => {
      const whole = normalizedOnce(() => joined(text));
      return new messageType.Record({
        role: request.messages[at]!.role,
        get text() {
          return whole();
        },
      });
    }),
  );
  const toolNames = normalizedOnce(() => (request.tools ?? []).map(({ name }) => name));
  const text = normalizedOnce(() =>
    [system(), ...messages().map(({ values }) => values.text)].filter((part) => part !== '').join('\n'),
  );
  const said = normalizedOnce(() =>
    found().filter(({ said }, at) => said.length > 0 && request.messages[at]!.role === 'user'),
  );
  const userText = normalizedOnce(() => joined(said().flatMap((message) => message.said)));
  // Unspecified: a last user message that only returns results of tools. The last words of the user are meant.
  const lastUserText = normalizedOnce(() => joined(said().at(-1)?.said ?? []));
  const metadata = normalizedOnce(() => stringEntries(request.metadata ?? {}));
  const holds = (kind: 'images' | 'documents' | 'thinking'): boolean => found().some((message: Found) => message[kind]);
  return {
    endpoint: request.endpoint,
    model: request.model,
    max_tokens: BigInt(request.maxTokens),
    input_tokens: BigInt(request.inputTokens),
    message_count: BigInt(request.messages.length),
    tool_count: BigInt(request.tools?.length ?? 0),
    stream: request.stream,
    get has_images() {
      return holds('images');
    },
    get has_documents() {
      return holds('documents');
    },
    // Unspecified: like its neighbours it speaks of what the messages hold, not of whether the answer may think.
    get has_thinking() {
      return holds('thinking');
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

const stringEntries = (metadata: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> => {
  const entries = new Map<string, string>();
  for (const [key, value] of Object.entries(metadata)) {
    if (typeof value === 'string') entries.set(normal(key), normal(value));
  }
  return entries;
};
