import type { Clock, Millis } from '../../clock.ts';
import type { Ours } from '../../kernel/store/ownership.ts';
import type { EventStore } from '../../kernel/store/store.ts';
import type { SignedCheckpoint } from '../../merkle/checkpoint.ts';
import type { Frontier } from '../../merkle/frontier.ts';
import type { HashSource } from '../../merkle/tree.ts';
import type { Anchor } from './checkpoint-event.ts';
import type { Signers } from './keys.ts';

/** The tree as its last checkpoint left it. */
export interface TreeHead {
  readonly tree: Frontier;
  /** Of the checkpoint on its stream, and its note. */
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
  /** Resolves once the tree can be read. Default: at once. */
  readonly isThere?: () => Promise<void>;
  /** Where the tree stands, and its leaves; asked whenever it is begun with. */
  readonly head: () => TreeHead | undefined;
  readonly leaves: HashSource;
  /** Told of the newest checkpoint of ours that is there and of each behind it, and of its event's position. */
  readonly signed: (checkpoint: SignedCheckpoint, position: bigint) => void;
  /** Told that another log is in the place of the one that was followed. Nothing is signed until `beginAgain`. */
  readonly replaced: () => void;
  /** From the first leaf that no checkpoint covers to the next checkpoint. */
  readonly delayMs?: Millis;
  /** From a failure to the next attempt. */
  readonly retryMs?: Millis;
}

/** How the signing of the log stands. */
export interface Signing {
  /** Why it does not go on; it then signs nothing more. */
  readonly stopped: Error | undefined;
  /** The secrets have made a key of this log. Without one nothing is signed, until an operator begins a new part. */
  readonly hasKey: boolean;
  /** Keys in the log for which nobody vouches, and checkpoints that are not ours. */
  readonly passedOver: readonly Place[];
}

export interface Place {
  readonly stream: string;
  readonly revision: number;
}

/** What anybody may know of it: whether the log is signed here, and where keys and checkpoints are that are not believed. */
export interface ToldSigning {
  readonly isSigned: boolean;
  readonly passedOver: Place[];
}

export const toldSigning = ({ stopped, hasKey, passedOver }: Signing): ToldSigning => ({
  isSigned: stopped === undefined && hasKey,
  passedOver: [...passedOver],
});
