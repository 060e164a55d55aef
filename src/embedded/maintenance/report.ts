/** One thing that is not as it was written. What is known of its place is there. */
export interface Damage {
  /** One sentence. */
  readonly what: string;
  readonly position?: number;
  readonly stream?: string;
  readonly revision?: number;
}

export interface VerifyReport {
  readonly verdict: 'ok' | 'corrupt';
  readonly events: number;
  readonly streams: number;
  /** Streams whose oldest events `$maxAge` has removed. */
  readonly purgedStreams: number;
  /** Position of the last event; 0 in an empty store. */
  readonly lastPosition: number;
  readonly damages: readonly Damage[];
  /** Damages beyond those listed. */
  readonly more: number;
}

/** What the child tells: where it is, so that its death has a place, and in the end what it found. */
export type ChildLine =
  | { readonly at: string; readonly share: number }
  | { readonly damage: Damage }
  | { readonly report: VerifyReport };

const LISTED = 1000;

/** Collects damages, the first thousand of them in full. */
export class Damages {
  readonly list: Damage[] = [];
  more = 0;

  add(damage: Damage): void {
    if (this.list.length < LISTED) this.list.push(damage);
    else this.more++;
  }

  get found(): boolean {
    return this.list.length > 0;
  }
}
