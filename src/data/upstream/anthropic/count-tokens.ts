import { type GenerateOptions, UpstreamError } from '../port.ts';
import { wholeAnswer } from '../transport/answers.ts';
import type { Endpoint } from '../transport/endpoint.ts';
import { fieldsOf, parsedJson } from '../transport/fields.ts';

const maxCountBytes = 64 * 1024;

/** The answers of a server that has no such route, or not for this method. */
const notOffered: readonly (number | undefined)[] = [404, 405, 501];

/** Null if the upstream has no such route. @throws the signal's reason or an UpstreamError */
export const countTokens = async (
  endpoint: Endpoint,
  body: Buffer,
  headers: Readonly<Record<string, string>>,
  options: GenerateOptions,
): Promise<number | null> => {
  const outgoing = { path: '/v1/messages/count_tokens', headers, body };
  try {
    return await wholeAnswer(endpoint, outgoing, options, countIn, maxCountBytes);
  } catch (error) {
    if (error instanceof UpstreamError && notOffered.includes(error.status)) return null;
    throw error;
  }
};

const countIn = (document: Buffer): number | null => {
  const count = fieldsOf(parsedJson(document.toString('utf8'), 'the count'), 'the count');
  const { input_tokens: tokens } = count;
  return Number.isSafeInteger(tokens) && (tokens as number) >= 0 ? (tokens as number) : null;
};
