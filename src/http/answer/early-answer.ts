/** Unspecified: how long, in milliseconds, and how far the rest of a request is read after its answer. */
export const lingerMs = 2_000;
export const maxLingered = 64 * 1024 * 1024;

/** Of these there is never a body, and so 204 tells no length either (RFC 9110, 8.6). */
export const hasNoBody = (status: number): boolean => status === 204 || status === 304;

/**
 * An answer without its body that closes its connection. The core's own way to end such an answer tells a length of nought.
 * @param length in bytes, of the body that GET would have where this is HEAD; undefined tells none
 */
export const bareAnswer = (block: string, length?: number): string =>
  `${block}\r\nConnection: close${length === undefined ? '' : `\r\nContent-Length: ${length}`}\r\n`;

/**
 * An answer with `Connection: close` as the value of its `content-type`, for a request of which more is on its way. So it is
 * complete for the client and pending for the core, which reads on, serves nothing that follows and leaves the end of the
 * connection to us. Its own `end` would close at once, and a client that writes before it reads would find a broken pipe in
 * place of the answer (RFC 9112, 9.6).
 * @param block the headers
 * @param body JSON; the line end that the core adds belongs to it
 */
export const earlyAnswer = (block: string, body: string): string => {
  if (body === '') return bareAnswer(block, 0);
  return `${block}\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body) + 2}\r\n\r\n${body}`;
};
