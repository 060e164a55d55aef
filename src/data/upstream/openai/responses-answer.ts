import { ownCallId } from '../call-ids.ts';
import { writtenBytesOf } from '../estimate.ts';
import type { Answer, AnswerBlock } from '../port.ts';
import { signatureOf, thoughtIn } from '../reasoning-item.ts';
import { type Fields, fieldsOf, parsedJson, stringOf, within } from '../transport/fields.ts';
import { toolUse } from '../transport/tool-use.ts';
import { contentRefused, errorOf, eventError, isFailure, malformed } from '../transport/upstream-errors.ts';
import { inputOf } from './chat-completion.ts';
import type { CallId } from './chat-message.ts';
import { guessedUsage, readStop, responseUsage, type Stop } from './usage.ts';

/** @throws UpstreamError for a response that has failed or is none, `content_refused` if a filter left nothing */
export const readResponse = (text: string, mostTokens: number, callId: CallId): Answer => {
  const response = fieldsOf(parsedJson(text, 'the answer'), 'the answer');
  const end = endOf(response);
  if (!Array.isArray(response.output)) throw malformed('the answer has no output');
  const content = blocksOf(response.output, end === 'cut', callId);
  const usage = guessedUsage(responseUsage(response, mostTokens), writtenBytesOf(content));
  if (end === 'filtered' && content.length === 0) throw contentRefused(usage);
  return { content, ...stopOf(end, isCalled(content)), usage };
};

const isCalled = (content: readonly AnswerBlock[]): boolean => content.some(({ type }) => type === 'tool_use');

export type End = 'complete' | 'cut' | 'filtered';

/** @throws UpstreamError for a response that has failed, or that goes on in the background */
export const endOf = (response: Fields): End => {
  const { status, error, incomplete_details: details } = response;
  if (status === 'failed' || isFailure(error)) throw responseError(error ?? response);
  if (status === 'incomplete') return within(details).reason === 'content_filter' ? 'filtered' : 'cut';
  if (status == null || status === 'completed') return 'complete';
  throw malformed('the response has not ended');
};

export const stopOf = (end: End, isCalled: boolean): Stop =>
  readStop(end === 'cut' ? 'length' : 'stop', isCalled, null);

const ofRequest: ReadonlySet<string> = new Set([
  ...['invalid_prompt', 'context_length_exceeded', 'content_filter', 'content_policy_violation'],
  ...['invalid_image', 'invalid_image_format', 'invalid_base64_image', 'invalid_image_url', 'invalid_image_mode'],
  ...['image_too_large', 'image_too_small', 'image_parse_error', 'image_file_too_large', 'empty_image_file'],
  ...['unsupported_image_media_type', 'failed_to_download_image', 'image_file_not_found'],
]);
/** Of content that the server does not want, such as `bio_policy`. */
const policyCode = /_policy(?:_violation)?$/;

/** Such errors have a code and no type. */
export const responseError = (error: unknown) => {
  const body = errorOf({ error });
  if (policyCode.test(body.code))
    return eventError({ ...body, type: 'invalid_request_error', code: 'content_policy_violation' });
  return eventError(ofRequest.has(body.code) ? { ...body, type: 'invalid_request_error' } : body);
};

/** Items of other types, such as calls of tools that the server runs itself, are left out. */
const blocksOf = (output: readonly unknown[], isCut: boolean, callId: CallId): readonly AnswerBlock[] => {
  let calls = 0;
  return output.flatMap((each, index): readonly AnswerBlock[] => {
    const item = fieldsOf(each, 'an item');
    switch (item.type) {
      case 'message': {
        const text = textIn(item);
        return text === '' ? [] : [{ type: 'text', text }];
      }
      case 'reasoning': {
        const [thinking, signature] = [thoughtIn(item), signatureOf(item)];
        return thinking === '' && signature === '' ? [] : [{ type: 'thinking', thinking, signature }];
      }
      case 'function_call': {
        const input = argumentsOf(item.arguments);
        // An incomplete call is of no use.
        if (input === undefined && isCut && index === output.length - 1) return [];
        return [toolUse(callIdOf(item) ?? callId(calls++), item.name, input)];
      }
      default:
        return [];
    }
  });
};

/** Undefined for what is no JSON. Some servers send the object itself. */
const argumentsOf = (said: unknown): unknown => {
  if (said == null || said === '') return {};
  return typeof said === 'string' ? inputOf(said) : said;
};

/** Null if the server gives none. */
export const callIdOf = ({ call_id, id }: Fields): string | null => {
  const given = call_id || id;
  return given ? ownCallId(stringOf(given, 'call_id')) : null;
};

/** Of all parts of a message; a refusal is text. */
export const textIn = ({ content }: Fields): string => {
  if (content == null) return '';
  if (!Array.isArray(content)) return stringOf(content, 'content');
  return content.map(partText).join('');
};

const partText = (part: unknown): string => {
  const { type, text, refusal } = fieldsOf(part, 'a part');
  if (type === 'refusal') return stringOf(refusal, 'refusal');
  return type === 'output_text' ? stringOf(text, 'text') : '';
};
