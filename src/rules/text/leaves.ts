import { ExactNumber } from '../../json/exact-number.ts';
import { dataSays, dataUrlOf, isOpaque, rawData, usualMediaTypes } from './data.ts';
import { saidIn } from './strings.ts';

// All strings in a value, and names of members that are not part of a protocol; without what no model reads as text.

/** Words of the protocols and of JSON Schema, which are skipped as names and as values of `type`. */
const protocol: ReadonlySet<string> = new Set(
  (
    'type text name id description title input input_schema parameters function strict schema json_schema format role content ' +
    'source data url url_citation message properties required items enum const default additionalProperties anyOf oneOf ' +
    'allOf not minimum maximum minLength maxLength minItems maxItems pattern object string number integer boolean array ' +
    'null custom $defs $ref definitions arguments call_id tool_call_id tool_use_id is_error citations context auto any tool ' +
    'none required enabled disabled adaptive image document thinking redacted_thinking tool_use tool_result search_result ' +
    'image_url file refusal input_text output_text summary_text reasoning reasoning_text input_image input_file function_call ' +
    'function_call_output ephemeral base64 completed in_progress incomplete detail filename file_data cache_control ttl ' +
    'signature encrypted_content encrypted_index media_type file_id annotations logprobs summary status start_index end_index ' +
    'file_citation'
  ).split(' '),
);

/** Members with ciphertext or signatures; plain text in them is read. */
const sealed: ReadonlySet<string> = new Set(['signature', 'encrypted_content', 'encrypted_index']);
/** Members with Base64 of unknown type. */
const raw: ReadonlySet<string> = new Set(['file_data', 'data', 'b64_json', 'image_data', 'bytes', 'result']);
/** Members whose data URLs are fetched for the model; elsewhere it may read the URL itself. */
const fetched: ReadonlySet<string> = new Set([...raw, 'url', 'image_url', 'file_url']);

const usual: Readonly<Record<string, ReadonlySet<string>>> = {
  type: protocol,
  ttl: new Set(['5m', '1h']),
  role: new Set(['user', 'assistant', 'system', 'developer', 'tool', 'function']),
  media_type: usualMediaTypes,
};
const isUsual = (name: string, value: string): boolean => Object.hasOwn(usual, name) && usual[name]!.has(value);

export interface Met {
  images: boolean;
  documents: boolean;
}

export interface Reading {
  /** The input of a tool, of which models read all names and numbers. */
  readonly isInput?: boolean;
  readonly met?: Met | undefined;
  /** Members of `value` that were read already. */
  readonly except?: readonly string[];
  /** Members to skip. */
  readonly skips?: (name: string, value: unknown) => boolean;
  /** Skips all names. */
  readonly isNameless?: boolean;
}

const imageWords = /image|screenshot/i;
const documentWords = /document|file|pdf|upload/i;

/** Notes images and documents by a member's name and string. */
export const notice = (met: Met, name: string, value: string): void => {
  if (name === 'type' || name === 'media_type' || name === 'mime_type') {
    if (imageWords.test(value)) met.images = true;
    else if (documentWords.test(value)) met.documents = true;
  } else if (name === 'image_url') met.images = true;
  else if (name === 'file_id' || name === 'file_data' || name === 'file_url') met.documents = true;
};

const noticeData = (met: Met, mediaType: string): void => {
  if (/^\s*image\//i.test(mediaType)) met.images = true;
  else met.documents = true;
};

interface Source {
  readonly type?: unknown;
  readonly media_type?: unknown;
}
const noSource: Source = {};

const sayings = (name: string, text: string, of: Source, met: Met | undefined): readonly string[] => {
  const url = dataUrlOf(text);
  if (url !== null) {
    if (met) noticeData(met, url.mediaType);
    return fetched.has(name) ? [url.says] : [text, url.says];
  }
  if (name === 'data' && of.type === 'text') return [text];
  if (name === 'data' && typeof of.media_type === 'string') return dataSays(of.media_type, text);
  if (sealed.has(name)) return isOpaque(text) ? [] : rawData(text);
  return raw.has(name) ? rawData(text) : [text];
};

/** Adds the strings of `value` to `into` in order; iterative, because clients choose the depth. */
export const addLeaves = (into: string[], value: unknown, reading: Reading = {}): void => {
  const { isInput = false, met, skips, isNameless = false, except } = reading;
  const open: unknown[] = [value];
  const note = (text: string): void => {
    if (text !== '') into.push(text);
  };
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') for (const said of sayings('', next, noSource, met)) note(said);
    else if (next instanceof Said) note(next.text);
    else if (typeof next === 'number' || typeof next === 'boolean' || next instanceof ExactNumber) {
      if (isInput) note(String(next));
    } else if (Array.isArray(next)) for (let at = next.length - 1; at >= 0; at -= 1) open.push(next[at]);
    else if (typeof next === 'object' && next !== null) {
      const members = Object.keys(next);
      for (let at = members.length - 1; at >= 0; at -= 1) {
        const name = members[at]!;
        if (next === value && except?.includes(name)) continue;
        const item = (next as Readonly<Record<string, unknown>>)[name];
        if (isInput) {
          open.push(item, new Said(name));
          continue;
        }
        if (skips?.(name, item)) continue;
        if (typeof item === 'string') {
          if (met) notice(met, name, item);
          if (isUsual(name, item)) continue;
          for (const said of sayings(name, item, next as Source, met)) open.push(new Said(said));
        } else open.push(item);
        const isSaid = item !== undefined && (next !== value || !isNothing(item));
        if (isSaid && !isNameless && !protocol.has(name)) open.push(new Said(name));
      }
    }
  }
};

class Said {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Empty members of blocks are skipped; deeper names are the client's. */
const isNothing = (value: unknown): boolean => value == null || (Array.isArray(value) && value.length === 0);

/** The strings of a JSON text without escapes; other texts unchanged. */
export const unpacked = (text: string): string => {
  if (!/^\s*[[{"]/.test(text)) return text;
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  const found: string[] = [];
  for (const each of saidIn(text))
    for (const said of sayings('', each, noSource, undefined)) if (said !== '') found.push(said);
  return found.join('\n');
};
