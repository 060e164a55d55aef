import { ExactNumber } from '../../exact-number.ts';

/**
 * The strings of a value of any shape, with the names of members where those are the client's own words. Nothing is left out
 * but what no model reads as text: marks of the protocol, and what is not text when it is decoded.
 */

/** Members whose values no model reads as text. */
const unread: ReadonlySet<string> = new Set([
  'cache_control',
  'signature',
  'encrypted_content',
  'encrypted_index',
  'media_type',
  'file_id',
]);

/** Words of the protocol and of JSON Schema: as names of members, and as values of `type`, nobody says anything by them. */
const protocol: ReadonlySet<string> = new Set(
  (
    'type text name id description title input input_schema parameters function strict schema json_schema format role content ' +
    'source data url url_citation message properties required items enum const default additionalProperties anyOf oneOf ' +
    'allOf not minimum maximum minLength maxLength minItems maxItems pattern object string number integer boolean array ' +
    'null custom $defs $ref definitions arguments call_id tool_call_id tool_use_id is_error citations context auto any tool ' +
    'none required enabled disabled adaptive image document thinking redacted_thinking tool_use tool_result search_result ' +
    'image_url file refusal input_text output_text summary_text reasoning reasoning_text input_image input_file function_call ' +
    'function_call_output ephemeral base64 completed in_progress incomplete detail filename file_data'
  ).split(' '),
);

/** Whose bytes are not text. All else that comes in Base64 is read as text. */
const binary = /^(?:image|audio|video|font)\/|^application\/(?:pdf|zip|gzip|vnd\.openxmlformats|msword|vnd\.ms-)/i;

const dataUrl = /^data:([^,]{0,200}),/i;

/** Text out of Base64: UTF-8, or UTF-16 that says so. */
const textIn = (base64: string): string => {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return bytes.toString('utf16le', 2);
  if (bytes[0] === 0xfe && bytes[1] === 0xff)
    return bytes
      .subarray(0, bytes.length & ~1)
      .swap16()
      .toString('utf16le', 2);
  return bytes.toString('utf8', bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0);
};

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** What data of that media type says; empty where it is not text. */
export const dataText = (mediaType: unknown, base64: string): string =>
  typeof mediaType === 'string' && binary.test(mediaType) ? '' : textIn(base64);

/** A string as a model is given it: a data URL by what is in it. */
export const readable = (text: string): string => {
  const head = text.startsWith('data:') || text.startsWith('DATA:') ? dataUrl.exec(text) : null;
  if (head === null) return text;
  const [whole, what = ''] = head;
  const body = text.slice(whole.length);
  if (/;base64$/i.test(what)) return dataText(what, body);
  return binary.test(what) ? '' : body;
};

/**
 * Adds the strings of `value` to `into`, in order. A list of what is still to be read instead of recursion, for the depth is
 * the client's choice.
 *
 * @param isInput whether it is the input of a tool, of which a model sees every name and number
 */
export const addLeaves = (into: string[], value: unknown, isInput: boolean): void => {
  const open: unknown[] = [value];
  const note = (text: string): void => {
    if (text !== '') into.push(text);
  };
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') note(readable(next));
    else if (typeof next === 'number' || typeof next === 'boolean' || next instanceof ExactNumber) {
      if (isInput) note(String(next));
    } else if (Array.isArray(next)) for (let at = next.length - 1; at >= 0; at -= 1) open.push(next[at]);
    else if (typeof next === 'object' && next !== null) {
      const { media_type: mediaType } = next as { readonly media_type?: unknown };
      for (const [name, item] of Object.entries(next).reverse()) {
        if (isInput) {
          open.push(item, name);
          continue;
        }
        if (unread.has(name) || (name === 'type' && protocol.has(String(item)))) continue;
        if (name === 'data' && typeof item === 'string' && mediaType !== undefined)
          open.push(dataText(mediaType, item));
        else open.push(item);
        if (!protocol.has(name) && item != null && !isEmpty(item)) open.push(name);
      }
    }
  }
};

/** The strings in a text that is JSON, which a model reads without its escapes; the text itself where it is not. */
export const unpacked = (text: string): string => {
  if (!/^\s*[[{"]/.test(text)) return text;
  try {
    const found: string[] = [];
    addLeaves(found, JSON.parse(text), true);
    return found.join('\n');
  } catch {
    return text;
  }
};
