/** Unspecified: how long (ms) and how far a request is read after its answer. */
export const lingerMs = 2_000;
export const maxLingered = 64 * 1024 * 1024;

/** They have no body and no Content-Length (RFC 9110, 8.6). */
export const hasNoBody = (status: number): boolean => status === 204 || status === 304;

/** uWebSockets' own end would send `Content-Length: 0`. @param length of the body that GET would have */
export const bareAnswer = (block: string, length?: number): string =>
  `${block}\r\nConnection: close${length === undefined ? '' : `\r\nContent-Length: ${length}`}\r\n`;

/**
 * An answer with `Connection: close` inside `content-type`, for an unfinished request: complete for the client,
 * pending for uWebSockets, which reads on and serves nothing further. Its own `end` closes at once, and a client that
 * is still writing gets a broken pipe instead of the answer (RFC 9112, 9.6). @param block headers. @param body JSON;
 * uWebSockets adds a line end to it
 */
export const earlyAnswer = (block: string, body: string): string => {
  if (body === '') return bareAnswer(block, 0);
  return `${block}\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body) + 2}\r\n\r\n${body}`;
};
