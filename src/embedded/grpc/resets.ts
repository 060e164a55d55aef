import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2';

/** nghttp2 allows 1,000 resets and recovers 33 a second; it also counts resets that are not seen here. */
const BURST = 800;
const RECOVERED_PER_MS = 33 / 1000;

/**
 * Clients cancel calls often. nghttp2 treats many resets as an attack (CVE-2023-44487) and breaks the connection with all its
 * calls; Node 20 cannot change the bounds. Closing the session before that lets its calls finish, and new ones use another
 * connection.
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
