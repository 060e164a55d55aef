import { atMost, type Millis } from '../../../clock.ts';

class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** More than any answer of a witness. */
const mostRead = 64 * 1024;

/** Follows no redirect. @param readAnswer takes what is needed of the answer, within the same time limit */
export const post = async <T>(
  url: string,
  body: string,
  answerMs: Millis,
  readAnswer: (answer: Response) => Promise<T>,
): Promise<T> => {
  const controller = new AbortController();
  const exchange = async (): Promise<T> => {
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    const answer = await fetch(url, { method: 'POST', headers, body, redirect: 'error', signal: controller.signal });
    try {
      return await readAnswer(answer);
    } finally {
      if (!answer.bodyUsed) await answer.body?.cancel();
    }
  };
  let result: T | undefined;
  const read = exchange().then((value) => {
    result = value;
  });
  if (await atMost(answerMs, read)) return result as T;
  // Once an answer has begun, an abort alone did not always end it (observed).
  const error = new NoAnswer(`it has not answered in ${answerMs / 1_000} s`);
  controller.abort(error);
  throw error;
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
