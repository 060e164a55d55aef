import type { UuidKey } from '../../codec/uuid.ts';

interface Written {
  readonly id: UuidKey;
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
}

// 8 MiB at about 128 bytes an entry, the bound of real nodes.
const CAPACITY = 65_536;

/** Ids of recent events, to recognise repeated appends with `any` and `stream_exists`. Empty after a start, as on a real node. */
export class RecentIds {
  private readonly byId = new Map<UuidKey, Written>();
  // A ring, because finding the oldest key of a Map becomes slow when the oldest is deleted again and again.
  private readonly ring: Written[] = [];
  private next = 0;

  add(id: UuidKey, stream: string, revision: number, position: number): void {
    const written = { id, stream, revision, position };
    const oldest = this.ring[this.next];
    if (oldest !== undefined && this.byId.get(oldest.id) === oldest) this.byId.delete(oldest.id);
    this.ring[this.next] = written;
    this.next = (this.next + 1) % CAPACITY;
    this.byId.set(id, written);
  }

  find(id: UuidKey, stream: string): Written | undefined {
    const written = this.byId.get(id);
    return written?.stream === stream ? written : undefined;
  }
}
