import type { Millis } from '../../../clock.ts';

class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** More than any answer of a witness. */
const mostRead = 64 * 1024;

/** Follows no redirect. @param read takes what is needed of the answer, within the same time limit */
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
      if (!answer.bodyUsed) await answer.body?.cancel();
    }
  };
  let timer: NodeJS.Timeout | undefined;
  // Once an answer has begun, an abort alone did not always end it (observed).
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

/** The first 64 KiB of an answer of any length. */
export const beginningOf = async ({ body }: Response): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= mostRead) break;
  }
  return Buffer.concat(chunks).toString('utf8', 0, mostRead);
};
