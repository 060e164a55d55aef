import type { Written } from '../store/batch.ts';
import { Page, type Shape } from '../store/page.ts';

/** The records of one commit, encoded once for all subscribers that want the same shape. */
export class LiveBatch {
  readonly records: readonly Written[];
  private readonly encoded = new Map<string, { bytes: Buffer; ends: number[] }>();

  constructor(records: readonly Written[]) {
    this.records = records;
  }

  /** The frames of records [from, to). */
  frames(shape: Shape, from: number, to: number): Buffer {
    const key = `${shape.uuids} ${shape.allPosition}`;
    let encoded = this.encoded.get(key);
    if (encoded === undefined) {
      const page = new Page();
      const ends = this.records.map(({ bytes, position }) => {
        page.addEvent({ bytes, length: bytes.length }, undefined, position, shape);
        return page.length;
      });
      encoded = { bytes: page.take(), ends };
      this.encoded.set(key, encoded);
    }
    return encoded.bytes.subarray(from === 0 ? 0 : encoded.ends[from - 1], encoded.ends[to - 1]);
  }
}
