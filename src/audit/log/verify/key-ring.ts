import type { Recorded } from '../../../kernel/store/store.ts';
import type { SignedCheckpoint } from '../../../merkle/checkpoint.ts';
import { isSignedWith, type Verifier } from '../../../merkle/note.ts';
import type { CheckpointEvent } from '../checkpoint-event.ts';
import { believedKeys, type LogKey } from '../key-belief.ts';
import { logKeyOf } from '../keys.ts';

/** What the signature of a checkpoint comes to. */
interface Judgement {
  /** Somebody from elsewhere vouches for who has signed it. */
  readonly isProven: boolean;
  readonly wrong?: { readonly class: 'signature' | 'checkpoint'; readonly says: string };
}

/** The keys of a log as its events bring them, and which of them is in force. */
export interface KeyRing {
  /** @param hash of the event's leaf */
  add(event: Recorded, hash: string): void;
  /** Of a checkpoint that adds these leaves. */
  judge(said: CheckpointEvent, leaves: readonly Buffer[]): Judgement;
  /** Whether a key of the log, or one from elsewhere, has signed it. */
  hasSigned(checkpoint: SignedCheckpoint): boolean;
  /** Whether a key is known from elsewhere: it was named, or has signed a checkpoint there. */
  readonly isTrusted: boolean;
  /** Keys were named, and none of them is this log's. */
  readonly isAnothers: boolean;
  /** Keys of the log for which nobody vouches. */
  readonly passedOver: readonly LogKey[];
}

const unsigned: Judgement = {
  isProven: false,
  wrong: { class: 'signature', says: 'The checkpoint is not signed by the key in force.' },
};

/**
 * @param named keys from elsewhere
 * @param against checkpoints from elsewhere: whoever has signed one is known by that. Where there is neither, the log's first key is
 * taken at its word
 */
export const keyRing = (named: readonly Verifier[], against: readonly SignedCheckpoint[]): KeyRing => {
  const texts = new Set(named.map(({ text }) => text));
  /** Alone: a line beside that of the log's key may have been put there by anybody. */
  const hasSignedOutside = ({ verifier }: LogKey): boolean =>
    against.some(
      ({ origin, note }) =>
        origin === verifier.name &&
        note.signatures.filter(({ name }) => name === origin).length === 1 &&
        isSignedWith(note, verifier),
    );
  const isTrusted = named.length > 0 || against.length > 0;
  const keys = believedKeys({
    isKnown: (key) => texts.has(key.verifier.text) || hasSignedOutside(key),
    takesFirst: !isTrusted,
  });
  const { believed, passedOver } = keys;
  const waiting = new Map<string, number>();
  let inForce = 0;
  let isNamed = false;

  /** Who has signed it: a key that is believed and not followed by another in force, or a named one of which the log does not tell. */
  const signerOf = ({ note }: SignedCheckpoint): { verifier: Verifier; number?: number } | undefined =>
    believed.slice(inForce).find(({ verifier }) => isSignedWith(note, verifier)) ??
    named
      .map((verifier) => ({ verifier }))
      .find(
        ({ verifier }) => !believed.some((key) => key.verifier.text === verifier.text) && isSignedWith(note, verifier),
      );

  return {
    add(event, hash) {
      const key = logKeyOf(event);
      if (!key) return;
      isNamed ||= texts.has(key.verifier.text);
      if (keys.add(key)) waiting.set(hash, believed.length - 1);
    },
    judge({ checkpoint, key: said }, leaves) {
      if (waiting.size > 0) {
        for (const leaf of leaves) {
          const text = leaf.toString('base64');
          inForce = waiting.get(text) ?? inForce;
          waiting.delete(text);
        }
      }
      const proven = signerOf(checkpoint);
      const signer = proven ?? passedOver.find(({ verifier }) => isSignedWith(checkpoint.note, verifier));
      if (!signer) return unsigned;
      if (proven) isNamed ||= texts.has(proven.verifier.text);
      const isProven = proven !== undefined;
      if (checkpoint.origin !== signer.verifier.name)
        return { isProven, wrong: { class: 'signature', says: 'The checkpoint is another log’s.' } };
      if (signer.number === undefined || signer.number === said) return { isProven };
      const says = 'The number beside the checkpoint is not that of the key that has signed it.';
      return { isProven, wrong: { class: 'checkpoint', says } };
    },
    hasSigned: ({ note }) =>
      [...named, ...believed.map(({ verifier }) => verifier)].some((verifier) => isSignedWith(note, verifier)),
    isTrusted,
    get isAnothers() {
      return named.length > 0 && !isNamed;
    },
    passedOver,
  };
};
