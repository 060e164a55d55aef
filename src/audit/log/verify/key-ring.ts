import type { Recorded } from '../../../kernel/store.ts';
import type { SignedCheckpoint } from '../../../merkle/checkpoint.ts';
import { isSignedWith, type Verifier } from '../../../merkle/note.ts';
import type { CheckpointEvent } from '../checkpoint-event.ts';
import { logKeyOf } from '../keys.ts';

type Wrong = { readonly class: 'signature' | 'key' | 'checkpoint'; readonly says: string };

/** The keys of a log as its events bring them, and which of them is in force. */
export interface KeyRing {
  /** @param hash of the event's leaf */
  add(event: Recorded, hash: string): void;
  /** What is wrong with the signature of a checkpoint that adds these leaves. */
  judge(said: CheckpointEvent, leaves: readonly Buffer[]): Wrong | undefined;
  /** Whether a key of the log, whichever, or one from elsewhere has signed it. */
  hasSigned(checkpoint: SignedCheckpoint): boolean;
  readonly isTrusted: boolean;
}

interface Known {
  readonly verifier: Verifier;
  /** As the log has it; undefined of a key from elsewhere. */
  readonly number?: number;
  /** By a key from elsewhere, or because one that was has signed that it follows. */
  readonly isVouchedFor: boolean;
}

/** @param trusted keys from elsewhere; where there are none, the log's first key is taken at its word */
export const keyRing = (trusted: readonly Verifier[]): KeyRing => {
  const texts = new Set(trusted.map(({ text }) => text));
  const all: Known[] = [];
  const waiting = new Map<string, Known>();
  let current: Known | undefined;
  /** Where the log's own word of its keys cannot be read, a key from elsewhere is enough. */
  const byTrusted = ({ note }: SignedCheckpoint): Known | undefined => {
    const verifier = trusted.find((each) => isSignedWith(note, each));
    return verifier && { verifier, isVouchedFor: true };
  };
  return {
    add(event, hash) {
      const key = logKeyOf(event);
      if (!key) return;
      const before = all.at(-1);
      const isVouchedFor =
        texts.has(key.verifier.text) ||
        (before ? before.isVouchedFor && key.isProven(before.verifier) : trusted.length === 0);
      const known = { verifier: key.verifier, number: key.number, isVouchedFor };
      all.push(known);
      waiting.set(hash, known);
    },
    judge({ checkpoint, key: said }, leaves) {
      if (waiting.size > 0) {
        for (const leaf of leaves) {
          const text = leaf.toString('base64');
          current = waiting.get(text) ?? current;
          waiting.delete(text);
        }
      }
      const key = current ?? all[0] ?? byTrusted(checkpoint);
      if (!key || !isSignedWith(checkpoint.note, key.verifier)) {
        return { class: 'signature', says: 'The checkpoint is not signed by the key in force.' };
      }
      if (checkpoint.origin !== key.verifier.name)
        return { class: 'signature', says: 'The checkpoint is another log’s.' };
      if (!key.isVouchedFor) return { class: 'key', says: 'Nobody vouches for the key of the checkpoint.' };
      return key.number === undefined || key.number === said
        ? undefined
        : { class: 'checkpoint', says: 'The number beside the checkpoint is not that of the key that has signed it.' };
    },
    hasSigned: (checkpoint) =>
      [...trusted, ...all.filter(({ isVouchedFor }) => isVouchedFor).map(({ verifier }) => verifier)].some((verifier) =>
        isSignedWith(checkpoint.note, verifier),
      ),
    get isTrusted() {
      return trusted.length > 0;
    },
  };
};
