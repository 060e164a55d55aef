import type { Millis } from '../../../clock.ts';

/** An answer that has not come to its end. */
class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** More than any witness has to say; what is behind it is not read. */
const mostRead = 64 * 1024;

/**
 * Sends a text, and follows nobody who sends it elsewhere.
 * @param read what is wanted of the answer; the time is for that too
 */
export const post = async <T>(
  url: string,
  body: string,
  answerMs: Millis,
  read: (answer: Response) => Promise<T>,
): Promise<T> => {
  const controller = new AbortController();
  const exchange = async (): Promise<T> => {
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    const answer = await fetch(url, { method: 'POST', headers, body, redirect: 'error', signal: controller.signal });
    try {
      return await read(answer);
    } finally {
      // Of an answer that was read there is nothing left to let go.
      if (!answer.bodyUsed) await answer.body?.cancel();
    }
  };
  let timer: NodeJS.Timeout | undefined;
  // Where an answer has begun, an abort alone has been seen not to end it.
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new NoAnswer(`it has not answered in ${answerMs / 1_000} s`);
      reject(error);
      controller.abort(error);
    }, answerMs);
  });
  try {
    return await Promise.race([exchange(), late]);
  } finally {
    clearTimeout(timer);
  }
};

/** The text of an answer, of which there may be any amount: its first 64 KiB. */
export const beginningOf = async ({ body }: Response): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop cancels the rest.
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= mostRead) break;
  }
  return Buffer.concat(chunks).toString('utf8', 0, mostRead);
};
