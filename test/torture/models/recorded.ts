/** What a provider answers with: its bytes on the wire, so that they can be cut anywhere. */

const event = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

const message = (n: number, content: readonly object[], stop: string | null) => ({
  id: `msg_${n}`,
  type: 'message',
  role: 'assistant',
  model: 'remote',
  content,
  stop_reason: stop,
  stop_sequence: null,
  usage: { input_tokens: 21, output_tokens: 1 },
});

const words = ['The weir ', 'holds é ', 'the river ', 'back 😀.'];

export const wholeText = words.join('');

/** Text of the block in `content`, or of the deltas. */
export const delta = (text: string): string =>
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });

export const opening = (n: number): string =>
  event('message_start', { message: message(n, [], null) }) +
  event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });

export const closing: string =
  event('content_block_stop', { index: 0 }) +
  event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 9 } }) +
  event('message_stop', {});

export const streamHead = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';

export const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
export const lastChunk = '0\r\n\r\n';

/** @param more further header lines */
export const json = (status: string, body: object, more = ''): string => {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n${more}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
};

/** A whole answer to the request of that number. */
export const wholeAnswer = (n: number, isStream: boolean): Buffer =>
  Buffer.from(
    isStream
      ? [streamHead, ...[opening(n), ...words.map(delta), closing].map(chunk), lastChunk].join('')
      : json('200 OK', message(n, [{ type: 'text', text: wholeText }], 'end_turn')),
  );
