import { Kind, lentDocument as tape } from '../../json/document.ts';
import { dataSays, dataUrlOf, isOpaque, rawData, usualMediaTypes } from './data.ts';
import { isArray, isNull, isObject, type Members, membersOf, textAt } from './members.ts';

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

interface Reading {
  /** The input of a tool, of which models read all names and numbers. */
  readonly isInput?: boolean;
  readonly met?: Met;
  /** Strings to skip. */
  readonly skips?: (name: string, text: string) => boolean;
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

/** @param beside the members of its object */
const sayings = (name: string, text: string, beside?: () => Members, met?: Met): readonly string[] => {
  const url = dataUrlOf(text);
  if (url !== null) {
    if (met) noticeData(met, url.mediaType);
    return fetched.has(name) ? [url.says] : [text, url.says];
  }
  if (name === 'data' && beside !== undefined) {
    const others = beside();
    if (textAt(others.get('type')) === 'text') return [text];
    const mediaType = textAt(others.get('media_type'));
    if (mediaType !== undefined) return dataSays(mediaType, text);
  }
  if (sealed.has(name)) return isOpaque(text) ? [] : rawData(text);
  return raw.has(name) ? rawData(text) : [text];
};

const addAll = (into: string[], texts: readonly string[]): void => {
  for (const text of texts) if (text !== '') into.push(text);
};

const says = (into: string[], name: string, isSaid: boolean): void => {
  if (isSaid && name !== '' && !protocol.has(name)) into.push(name);
};

const addString = (into: string[], name: string, text: string, beside: () => Members, reading: Reading): void => {
  const { met, skips, isNameless = false } = reading;
  if (skips?.(name, text)) return;
  if (met) notice(met, name, text);
  if (isUsual(name, text)) return;
  says(into, name, !isNameless);
  // Unspecified: what data says comes before the data.
  addAll(into, sayings(name, text, beside, met).toReversed());
};

/** Adds the strings of a value to `into` in order; iterative, because clients choose the depth. */
export const addLeaves = (into: string[], value: number, reading: Reading = {}): void => {
  const { isInput = false, isNameless = false, met } = reading;
  const open: number[] = [];
  for (let at = value, end = tape.next(value); at < end; at++) {
    while (open.length > 0 && tape.next(open.at(-1)!) <= at) open.pop();
    const kind = tape.kind(at);
    if (kind === Kind.object) open.push(at);
    else if (kind === Kind.string) addAll(into, sayings('', tape.text(at), undefined, met));
    else if (isInput) {
      if (kind !== Kind.array && kind !== Kind.null) addAll(into, [tape.text(at)]);
    } else if (kind === Kind.name) {
      const text = textAt(at + 1);
      if (text === undefined) says(into, tape.text(at), !isNameless);
      else {
        const object = open.at(-1)!;
        addString(into, tape.text(at), text, () => membersOf(object), reading);
        at++;
      }
    }
  }
};

/** The same of a block's members, without those that were read. Names of empty ones are skipped: only deeper names are the client's. */
export const addMembers = (into: string[], block: Members, read: readonly string[], reading: Reading): void => {
  for (let index = 0; index < block.names.length; index++) {
    const [name, value] = [block.names[index]!, block.values[index]!];
    if (read.includes(name)) continue;
    const text = textAt(value);
    if (text !== undefined) addString(into, name, text, () => block, reading);
    else {
      const isEmpty = isNull(value) || (isArray(value) && tape.next(value) === value + 1);
      says(into, name, !isEmpty);
      addLeaves(into, value, reading);
    }
  }
};

/** The same of a value, which may be a block. */
export const addValue = (into: string[], value: number, reading: Reading = {}): void =>
  isObject(value) ? addMembers(into, membersOf(value), [], reading) : addLeaves(into, value, reading);

/** The strings of a JSON text without escapes; other texts unchanged. */
export const unpacked = (text: string): string => {
  if (!/^\s*[[{"]/.test(text) || !tape.scanText(text)) return text;
  const found: string[] = [];
  for (let at = 0, end = tape.next(0); at < end; at++) {
    const kind = tape.kind(at);
    if (kind > Kind.array && kind !== Kind.null) addAll(found, sayings('', tape.text(at)));
  }
  return found.join('\n');
};
