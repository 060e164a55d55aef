/** A parsed `$metadata` event; invalid fields are absent. */
export interface StreamMetadata {
  /** Of the event on the metastream. */
  readonly revision: number;
  readonly maxCount?: number;
  /** Milliseconds. */
  readonly maxAge?: number;
  /** First readable revision; Infinity after a soft delete. */
  readonly truncateBefore?: number;
  readonly raw: Buffer;
}

const LONG_MAX = '9223372036854775807';
const SOFT_DELETED = Number.POSITIVE_INFINITY;

export const SOFT_DELETE = Buffer.from(`{"$tb":${LONG_MAX}}`);

export function parseMetadata(raw: Buffer, revision: number): StreamMetadata {
  const fields = parseObject(raw);
  const count = fields?.$maxCount;
  const age = fields?.$maxAge;
  const before = fields?.$tb;
  return {
    revision,
    raw,
    ...(isCount(count) && { maxCount: count }),
    ...(isCount(age) && { maxAge: age * 1000 }),
    ...(typeof before === 'number' && before >= 0 && { truncateBefore: revisionFrom(raw, before) }),
  };
}

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value) && value > 0;

function parseObject(raw: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(raw.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** 2^63 - 1, which means a soft delete, is not a double, so the text decides. */
function revisionFrom(raw: Buffer, value: number): number {
  if (value < Number.MAX_SAFE_INTEGER) return value;
  const written = raw.toString('utf8').match(/"\$tb"\s*:\s*(\d+)/g);
  return written?.at(-1)?.endsWith(LONG_MAX) ? SOFT_DELETED : value;
}

export function isSoftDeleted(metadata: StreamMetadata | undefined): boolean {
  return metadata?.truncateBefore === SOFT_DELETED;
}

/** The metadata with `$tb` set; undefined when it is not a JSON object. */
export function withTruncateBefore(raw: Buffer, revision: number): Buffer | undefined {
  const fields = parseObject(raw);
  return fields && Buffer.from(JSON.stringify({ ...fields, $tb: revision }));
}

/** First visible revision, without regard to `$maxAge`. */
export function firstVisible(metadata: StreamMetadata | undefined, last: number): number {
  if (metadata === undefined) return 0;
  const byCount = metadata.maxCount === undefined ? 0 : last - metadata.maxCount + 1;
  return Math.max(0, byCount, metadata.truncateBefore ?? 0);
}
