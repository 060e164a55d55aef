export interface Damage {
  readonly what: string;
  readonly position?: number;
  readonly stream?: string;
  readonly revision?: number;
}

export interface VerifyReport {
  readonly verdict: 'ok' | 'corrupt';
  readonly events: number;
  readonly streams: number;
  readonly purgedStreams: number;
  readonly lastPosition: number;
  readonly damages: readonly Damage[];
  readonly more: number;
}

/** Progress, so that the child's death has a place; then the result. */
export type ChildLine =
  | { readonly at: string; readonly share: number }
  | { readonly damage: Damage }
  | { readonly report: VerifyReport };

const LISTED = 1000;

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
