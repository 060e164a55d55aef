import type { Fields } from './transport/fields.ts';

/**
 * A reasoning item as a thinking block of messages. The server keeps nothing, so the block's signature has what the
 * server needs of the item on the next turn: `rs1:<id>:<encrypted_content>`.
 */

const form = /^rs1:([\w-]{0,256}):(.*)$/s;
const plainId = /^[\w-]{1,256}$/;

export const isSignature = (signature: unknown): boolean => typeof signature === 'string' && form.test(signature);

/** Without encrypted content, it tells that the text stood in `content`, and not in `summary`. */
export const signatureOf = ({ id, encrypted_content: encrypted, content }: Fields): string => {
  const data = typeof encrypted === 'string' ? encrypted : '';
  if (data === '' && textIn(content) === '') return '';
  return `rs1:${typeof id === 'string' && plainId.test(id) ? id : ''}:${data}`;
};

/**
 * Null for a thought of nothing: with an id alone, a client could name what the server keeps for others (contract L.1).
 * @param thinking of a block whose signature is empty or `isSignature`
 */
export const reasoningItem = (thinking: string, signature: string): Fields | null => {
  const [, id = '', encrypted = ''] = form.exec(signature) ?? [];
  if (thinking === '' && encrypted === '') return null;
  const wasContent = signature !== '' && encrypted === '';
  return {
    type: 'reasoning',
    ...(id !== '' && { id }),
    summary: thinking === '' || wasContent ? [] : [{ type: 'summary_text', text: thinking }],
    ...(wasContent && { content: [{ type: 'reasoning_text', text: thinking }] }),
    ...(encrypted !== '' && { encrypted_content: encrypted }),
  };
};

/** Between parts of a summary. */
export const partBreak = '\n\n';

export const thoughtIn = ({ content, summary }: Fields): string => textIn(content) || textIn(summary);

const textIn = (parts: unknown): string =>
  (Array.isArray(parts) ? parts : [])
    .map((part) => (part as Fields | null)?.text)
    .filter((text) => typeof text === 'string' && text !== '')
    .join(partBreak);
