import type { InputBlock, Message } from './port.ts';

/** A message with its own hint or speaker begins anew, or these would be lost. */
const goesOn = ({ role, name, output_config: hint }: Message, before: Message | undefined): boolean =>
  role === before?.role && hint?.effort == null && (name ?? null) === (before.name ?? null);

/** Merges neighbours of one role (contract G.1). Returns the same array if there are none. */
export const mergeTurns = (messages: readonly Message[]): readonly Message[] => {
  if (!messages.some((message, index) => goesOn(message, messages[index - 1]))) return messages;
  const merged: Message[] = [];
  let grown: InputBlock[] | null = null;
  for (const message of messages) {
    const last = merged.at(-1);
    if (last === undefined || !goesOn(message, last)) {
      merged.push(message);
      grown = null;
      continue;
    }
    if (grown === null) {
      grown = [...blocksOf(last)];
      merged[merged.length - 1] = { ...last, content: grown };
    }
    for (const block of blocksOf(message)) grown.push(block);
  }
  return merged;
};

const blocksOf = ({ content }: Message): readonly InputBlock[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;
