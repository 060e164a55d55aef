import type { UuidKey } from '../../codec/uuid.ts';

interface Written {
  readonly id: UuidKey;
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
}

// 8 MiB at roughly 128 bytes an entry, as the real server bounds it.
const CAPACITY = 65_536;

/**
 * Ids of recently written events, for appends with `any` and `stream_exists`, whose repetition can be recognised by
 * nothing else. Empty after a start, on purpose: it must not promise more than a production node does.
 */
export class RecentIds {
  private readonly byId = new Map<UuidKey, Written>();
  // In the order of writing: the oldest key of a map that loses its oldest all the time takes ever longer to find.
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
