import { isOurStream } from '../../domain/streams.ts';
/** The revision of the event that a hard delete writes. */
export const TOMBSTONE = 2n ** 63n - 1n;

const METADATA = '$$';

/** `$$key-1` describes `key-1`. */
export const described = (stream: string): string | undefined =>
  stream.startsWith(METADATA) ? stream.slice(METADATA.length) : undefined;

/** Not copied: the store's own streams (`$…`), and `replay-` streams, whose values are sealed with a key of this machine. */
export const isCopied = (stream: string): boolean => {
  const subject = described(stream) ?? stream;
  return !subject.startsWith('$') && !subject.startsWith('replay-');
};

/** False for streams of other applications in the same store. */
export const isWeirs = (stream: string): boolean => isOurStream(described(stream) ?? stream);

/** Tracks the revisions of all streams and finds streams with gaps. */
export class Revisions {
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

  /** Streams with gaps or without their first event: no store can be given these revisions. */
  get incomplete(): ReadonlyMap<string, bigint> {
    return this.broken;
  }

  /** A sentence on the incomplete streams; undefined if there are none. */
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
