import type { Clock } from '../../clock.ts';
import type { Actor, EventStore, Recorded } from '../../kernel/store.ts';
import { isSignedWith, type Verifier } from '../../merkle/note.ts';
import { checkpointOf } from './checkpoint-event.ts';
import { beliefOf, isOwn, keysIn, nextKey, type Signers } from './keys.ts';
import { checkpointStream, keyStream } from './leaf.ts';

/** Whether a checkpoint is signed with a key that our secrets make. */
export const isSignedByOurs = (event: Recorded, signers: Signers): boolean => {
  const said = checkpointOf(event);
  return said !== undefined && isSignedWith(said.checkpoint.note, signers(said.key).verifier);
};

/**
 * Begins a part of the log that these secrets sign, where they could not go on with what there is: none of its keys is theirs, or
 * its newest checkpoint is signed by others. It is for an operator to say so, since to whoever knows the keys up to here that
 * part is unproven.
 * @returns the key that signs from now on; undefined where nothing had to be begun
 */
export const beginNewPart = async (
  store: Pick<EventStore, 'read' | 'append'>,
  signers: Signers,
  clock: Clock,
  actor?: Actor,
): Promise<Verifier | undefined> => {
  const { believed, revision } = await keysIn(store, beliefOf(signers));
  if (revision === null) return undefined;
  const own = believed.findLast(isOwn(signers));
  if (own && (await canGoOn(store, signers, own.position))) return undefined;
  const number = (believed.at(-1)?.number ?? 0) + 1;
  await store.append(keyStream, [nextKey(signers, number, own && signers(own.number), clock, actor)], revision);
  return signers(number).verifier;
};

const canGoOn = async (store: Pick<EventStore, 'read'>, signers: Signers, since: bigint): Promise<boolean> => {
  let newest: Recorded | undefined;
  for await (const event of store.read(checkpointStream)) newest = event;
  return newest === undefined || newest.position < since || isSignedByOurs(newest, signers);
};
