import type { Recorded } from '../../../kernel/store/store.ts';
import type { SignedCheckpoint } from '../../../merkle/checkpoint.ts';
import { isSignedWith, type Verifier } from '../../../merkle/note.ts';
import type { CheckpointEvent } from '../checkpoint-event.ts';
import { believedKeys, type Keys, type LogKey, type NoKey } from '../key-belief.ts';
import { logKeyOf } from '../keys.ts';

interface Judgement {
  /** Whether the signing key is believed. */
  readonly isProven: boolean;
  readonly wrong?: { readonly class: 'signature' | 'checkpoint'; readonly says: string };
}

export interface KeyRing {
  add(event: Recorded, hash: string): void;
  judge(said: CheckpointEvent, leaves: readonly Buffer[]): Judgement;
  /** Whether a believed or named key has signed it. */
  hasSigned(checkpoint: SignedCheckpoint): boolean;
  /** Whether any key is known from outside the log. */
  readonly isTrusted: boolean;
  /** Keys were named, and none is of this log. */
  readonly isAnothers: boolean;
  readonly passedOver: Keys['passedOver'];
}

const unsigned: Judgement = {
  isProven: false,
  wrong: { class: 'signature', says: 'The checkpoint is not signed by the key in force.' },
};

const isSignedBy = ({ note }: SignedCheckpoint, { verifier }: LogKey | NoKey): boolean =>
  verifier !== undefined && isSignedWith(note, verifier);

/** Without `named` and `against`, the log's first key is believed. A key that has signed one of `against` is known. */
export const keyRing = (named: readonly Verifier[], against: readonly SignedCheckpoint[]): KeyRing => {
  const texts = new Set(named.map(({ text }) => text));
  /** Must be the only signature: anyone may add a line beside that of the log's key. */
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

  /** A believed key in force, or a named one that the log does not list. */
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
      isNamed ||= key.verifier !== undefined && texts.has(key.verifier.text);
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
      const signer = proven ?? passedOver.find((key): key is LogKey => isSignedBy(checkpoint, key));
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
