import { isOurStream } from '../../domain/streams.ts';
/** The revision of the event that a hard delete writes. */
export const TOMBSTONE = 2n ** 63n - 1n;

const METADATA = '$$';

/** `$$key-1` describes `key-1`. */
export const described = (stream: string): string | undefined =>
  stream.startsWith(METADATA) ? stream.slice(METADATA.length) : undefined;

/**
 * Whether an event belongs into a copy. The store's own streams (`$…`) do not: another store has its own. Nor do
 * `replay-` streams: the secrets in them are sealed for a day, with a key that never leaves this machine.
 */
export const isCopied = (stream: string): boolean => {
  const subject = described(stream) ?? stream;
  return !subject.startsWith('$') && !subject.startsWith('replay-');
};

/** Whether an event belongs to Weir, and not to another application of the same store. */
export const isWeirs = (stream: string): boolean => isOurStream(described(stream) ?? stream);

/** Follows the revisions of all streams and remembers those that have a hole or do not begin with their first event. */
export class Revisions {
  /** The next revision that is due, by stream. */
  private readonly next = new Map<string, bigint>();
  private readonly broken = new Map<string, bigint>();
  readonly tombstoned = new Set<string>();

  add(stream: string, revision: bigint): void {
    if (revision === TOMBSTONE) {
      this.tombstoned.add(stream);
      return;
    }
    const due = this.next.get(stream) ?? 0n;
    if (revision !== due && !this.broken.has(stream)) this.broken.set(stream, due);
    this.next.set(stream, revision + 1n);
  }

  get streams(): number {
    return this.next.size;
  }

  /** Streams that no store can be given as they are, since revisions are counted from 0 and without gaps. */
  get incomplete(): ReadonlyMap<string, bigint> {
    return this.broken;
  }

  /** One sentence on the incomplete streams, or undefined when there are none. */
  complaint(): string | undefined {
    const { size } = this.broken;
    if (size === 0) return undefined;
    const named = [...this.broken.keys()].slice(0, NAMED);
    const rest = size > NAMED ? ` and ${size - NAMED} more` : '';
    const subject = size === 1 ? 'One stream lacks' : `${size} streams lack`;
    return `${subject} events that were purged or truncated, and cannot be made anew in any store: ${named.join(', ')}${rest}.`;
  }
}

const NAMED = 20;
