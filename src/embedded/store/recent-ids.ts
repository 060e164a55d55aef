import type { UuidKey } from '../codec/uuid.ts';

interface Written {
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

  add(id: UuidKey, stream: string, revision: number, position: number): void {
    this.byId.set(id, { stream, revision, position });
    if (this.byId.size <= CAPACITY) return;
    for (const oldest of this.byId.keys()) {
      this.byId.delete(oldest);
      return;
    }
  }

  find(id: UuidKey, stream: string): Written | undefined {
    const written = this.byId.get(id);
    return written?.stream === stream ? written : undefined;
  }
}
