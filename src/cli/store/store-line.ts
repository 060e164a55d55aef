import type { RawEvent } from '../../eventstoredb/client/raw-event.ts';

/**
 * The lines of an export, one event a line:
 *   {"position":"571","stream":"key-1","revision":"0","id":"…","type":"…","created":1763697600000,"data":{…},"metadata":{…}}
 * `data` and `metadata` are JSON if serializing them gives the stored bytes; other JSON is in `data_text`, and other bytes are in
 * `data_base64` (with `"json":true` if the store has them as JSON). The last line, {"weir_export":1,"events":n}, proves that the
 * file is complete.
 */
export interface LastLine {
  readonly weir_export: 1;
  readonly events: number;
}

export class BadLine extends Error {}

export const lineOf = (event: RawEvent): string => {
  const { position, stream, revision, id, type, created, isJson } = event;
  const data = partOf('data', event.data, isJson);
  const metadata = event.metadata.length === 0 ? {} : partOf('metadata', event.metadata, true);
  const about = { position: String(position), stream, revision: String(revision), id, type, created };
  return `${JSON.stringify({ ...about, ...(isJson && 'data_base64' in data && { json: true }), ...data, ...metadata })}\n`;
};

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const partOf = (name: string, bytes: Uint8Array, isJson: boolean): Record<string, unknown> => {
  const text = isJson ? textOf(bytes) : undefined;
  if (text === undefined) return { [`${name}_base64`]: Buffer.from(bytes).toString('base64') };
  try {
    const value: unknown = JSON.parse(text);
    if (JSON.stringify(value) === text) return { [name]: value };
  } catch {
    // The writer marked it as JSON, but it is not.
  }
  return { [`${name}_text`]: text };
};

const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
};

const nothing = new Uint8Array();

/** @throws BadLine */
export const readLine = (line: string): RawEvent | LastLine => {
  const fields = objectOf(line);
  if (fields.weir_export === 1 && typeof fields.events === 'number') return { weir_export: 1, events: fields.events };
  if (fields.weir_export !== undefined) throw new BadLine('is of another version of Weir');
  const data = bytesOf('data', fields);
  if (data === undefined) throw new BadLine('has no data');
  return {
    stream: textField(fields, 'stream'),
    revision: numberField(fields, 'revision'),
    position: numberField(fields, 'position'),
    id: textField(fields, 'id'),
    type: textField(fields, 'type'),
    isJson: fields.json === true || !('data_base64' in fields),
    data,
    metadata: bytesOf('metadata', fields) ?? nothing,
    created: Number(fields.created),
  };
};

const objectOf = (line: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Thrown below.
  }
  throw new BadLine('is not a JSON object');
};

const bytesOf = (name: string, fields: Record<string, unknown>): Uint8Array | undefined => {
  const text = fields[`${name}_text`];
  const base64 = fields[`${name}_base64`];
  if (typeof base64 === 'string') return Buffer.from(base64, 'base64');
  if (typeof text === 'string') return Buffer.from(text);
  return name in fields ? Buffer.from(JSON.stringify(fields[name])) : undefined;
};

const textField = (fields: Record<string, unknown>, name: string): string => {
  const value = fields[name];
  if (typeof value !== 'string' || value === '') throw new BadLine(`has no ${name}`);
  return value;
};

const numberField = (fields: Record<string, unknown>, name: string): bigint => {
  const value = textField(fields, name);
  if (!/^\d{1,19}$/.test(value)) throw new BadLine(`has no number as ${name}`);
  return BigInt(value);
};
