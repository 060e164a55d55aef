import type { Clock } from '../../clock.ts';
import { logEvent } from '../../kernel/log-event.ts';
import { type Actor, type EventStore, type NewEvent, type Recorded, WrongRevision } from '../../kernel/store.ts';
import { isSignedWith, parsedNote, type Signer, signed, type Verifier, verifierOf } from '../../merkle/note.ts';
import { keyStream } from './leaf.ts';

/** The log's signer by the number of its key. */
export type Signers = (number: number) => Signer;

/** What a key event says. */
export interface LogKey {
  readonly number: number;
  readonly verifier: Verifier;
  /** The key before says that this one follows it; always of the first. */
  readonly isProven: (before: Verifier) => boolean;
}

/** What the name of the log's keys and the first line of its checkpoints is. */
export const originOf = (logId: string): string => `weir/${logId}`;

const rotationText = (number: number, verifier: Verifier): string =>
  `key ${number} of ${verifier.name}\n${verifier.text}\n`;

/** Reads a key event; undefined where it is none. */
export const logKeyOf = ({ stream, data }: Pick<Recorded, 'stream' | 'data'>): LogKey | undefined => {
  if (stream !== keyStream) return undefined;
  const { number, public_key: text, note } = data as { number?: unknown; public_key?: unknown; note?: unknown };
  const verifier = typeof text === 'string' ? verifierOf(text) : undefined;
  if (!Number.isSafeInteger(number) || !verifier) return undefined;
  const said = typeof note === 'string' ? parsedNote(note) : undefined;
  const isProven = (before: Verifier): boolean =>
    said?.text === rotationText(number as number, verifier) && isSignedWith(said, before);
  return { number: number as number, verifier, isProven };
};

/** The log's keys in their order, with the revision of the last. */
export const keysIn = async (store: Pick<EventStore, 'read'>): Promise<{ keys: LogKey[]; revision: number | null }> => {
  const keys: LogKey[] = [];
  let revision: number | null = null;
  for await (const event of store.read(keyStream)) {
    const key = logKeyOf(event);
    if (key) keys.push(key);
    ({ revision } = event);
  }
  return { keys, revision };
};

/** @param before undefined where nobody can speak for the key before, since its master key is lost */
const rotated = (
  signers: Signers,
  number: number,
  before: Signer | undefined,
  clock: Clock,
  actor?: Actor,
): NewEvent => {
  const { verifier } = signers(number);
  const note = before ? signed(rotationText(number, verifier), before) : null;
  const type = 'audit.key_rotated';
  return logEvent(
    `${type} ${verifier.text}`,
    keyStream,
    type,
    { number, public_key: verifier.text, note },
    clock,
    actor,
  );
};

/**
 * Puts the first key into the log where there is none. Where the last one is not made of this master key, which means that
 * that one was lost, another follows it for which nobody vouches.
 */
export const ensureKey = async (store: EventStore, signers: Signers, clock: Clock): Promise<void> => {
  for (;;) {
    const { keys, revision } = await keysIn(store);
    const last = keys.at(-1);
    if (last && signers(last.number).verifier.text === last.verifier.text) return;
    const { text } = signers(1).verifier;
    const type = 'audit.key_started';
    const event = last
      ? rotated(signers, last.number + 1, undefined, clock)
      : logEvent(`${type} ${text}`, keyStream, type, { number: 1, public_key: text }, clock);
    try {
      await store.append(keyStream, [event], revision ?? 'no_stream');
      return;
    } catch (error) {
      // Another gateway was first; what it has written is judged anew.
      if (!(error instanceof WrongRevision)) throw error;
    }
  }
};

/** From the checkpoint on that covers this, the next key signs. */
export const rotateKey = async (
  store: EventStore,
  signers: Signers,
  clock: Clock,
  actor?: Actor,
): Promise<Verifier> => {
  await ensureKey(store, signers, clock);
  const { keys, revision } = await keysIn(store);
  const { number } = keys.at(-1) as LogKey;
  const event = rotated(signers, number + 1, signers(number), clock, actor);
  await store.append(keyStream, [event], revision as number);
  return signers(number + 1).verifier;
};
