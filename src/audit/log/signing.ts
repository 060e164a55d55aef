import type { Clock, Millis } from '../../clock.ts';
import type { Ours } from '../../kernel/store/ownership.ts';
import type { EventStore } from '../../kernel/store/store.ts';
import type { SignedCheckpoint } from '../../merkle/checkpoint.ts';
import type { Frontier } from '../../merkle/frontier.ts';
import type { HashSource } from '../../merkle/tree.ts';
import type { Anchor } from './checkpoint-event.ts';
import type { Signers } from './keys.ts';

export interface TreeHead {
  readonly tree: Frontier;
  readonly revision: number;
  readonly note: string;
  readonly anchor: Anchor | null;
}

export interface CheckpointerOptions {
  readonly store: Pick<EventStore, 'append' | 'read' | 'readAll' | 'subscribe' | 'state'>;
  readonly ours: Ours;
  readonly origin: string;
  readonly signers: Signers;
  readonly clock: Clock;
  readonly isThere?: () => Promise<void>;
  readonly head: () => TreeHead | undefined;
  readonly leaves: HashSource;
  /** Called with the newest own checkpoint at the start, with each later one, and with its position. */
  readonly signed: (checkpoint: SignedCheckpoint, position: bigint) => void;
  /** Called when another log has taken the place of the followed one. Nothing is signed until `beginAgain`. */
  readonly replaced: () => void;
  /** Called once nothing more is signed, at the end of `close`. */
  readonly closed?: () => Promise<void>;
  /** From the first uncovered leaf to the next checkpoint. */
  readonly delayMs?: Millis;
  readonly retryMs?: Millis;
}

export interface Signing {
  /** Why signing has stopped for good. */
  readonly stopped: Error | undefined;
  /** Whether the secrets make a key of this log. Without one nothing is signed. */
  readonly hasKey: boolean;
  /** Keys that are not believed, and checkpoints that are not ours. */
  readonly passedOver: readonly Place[];
}

export interface Place {
  readonly stream: string;
  readonly revision: number;
}

/** The public part of `Signing`. */
export interface ToldSigning {
  readonly isSigned: boolean;
  readonly passedOver: Place[];
}

export const toldSigning = ({ stopped, hasKey, passedOver }: Signing): ToldSigning => ({
  isSigned: stopped === undefined && hasKey,
  passedOver: [...passedOver],
});
