import type { UuidKind } from '../codec/uuid.ts';
import type { Written } from '../store/commit/batch.ts';
import { Page } from '../store/read/page.ts';

/** The records of one commit, encoded once per form of UUIDs. */
export class LiveBatch {
  readonly records: readonly Written[];
  private readonly encoded = new Map<UuidKind, { bytes: Buffer; ends: number[] }>();

  constructor(records: readonly Written[]) {
    this.records = records;
  }

  frames(uuids: UuidKind, from: number, to: number): Buffer {
    let encoded = this.encoded.get(uuids);
    if (encoded === undefined) {
      const page = new Page();
      const ends = this.records.map(({ bytes, position }) => {
        page.addEvent({ bytes, length: bytes.length }, undefined, position, uuids);
        return page.length;
      });
      encoded = { bytes: page.take(), ends };
      this.encoded.set(uuids, encoded);
    }
    return encoded.bytes.subarray(from === 0 ? 0 : encoded.ends[from - 1], encoded.ends[to - 1]);
  }
}
