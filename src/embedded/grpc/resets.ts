import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2';

/** Cancelled calls that a connection bears at once, and what it recovers: nghttp2's 1,000 and 33, less what it counts unseen. */
const BURST = 800;
const RECOVERED_PER_MS = 33 / 1000;

/**
 * Clients cancel whatever they leave early. nghttp2 takes many cancellations for an attack (CVE-2023-44487) and closes
 * the connection with an error, which is then the outcome of every other call on it; Node 20 cannot set its bounds. It
 * stops counting where a connection is closing in order, so that is done first: the calls on it go on to their own
 * ends, the client makes new ones over another connection, and those that had been on their way it sends there again.
 */
export function closeBeforeReset(session: Http2Session): void {
  let left = BURST;
  let at = performance.now();
  const cancelled = () => {
    const now = performance.now();
    left = Math.min(BURST, left + (now - at) * RECOVERED_PER_MS) - 1;
    at = now;
    if (left < 0) session.close();
  };
  session.on('stream', (stream: ServerHttp2Stream) => {
    stream.once('close', () => {
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) cancelled();
    });
  });
}
