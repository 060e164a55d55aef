import type { Clock } from '../../clock.ts';
import type { Actor, EventStore, Recorded } from '../../kernel/store/store.ts';
import { signed, type Verifier } from '../../merkle/note.ts';
import { checkpointOf } from './checkpoint-event.ts';
import { beliefOf, isOwn, keysIn, mostKeys, nextKey, type Signers } from './keys.ts';
import { checkpointStream, keyStream } from './leaf.ts';

/** Whether the note of a checkpoint is what our secrets make of its text, to the byte: a line more would be somebody else's. */
export const isSignedByOurs = (event: Recorded, signers: Signers): boolean => {
  const said = checkpointOf(event);
  return said !== undefined && said.checkpoint.signed === signed(said.checkpoint.note.text, signers(said.key));
};

/** How many leaves the newest checkpoint covers that our secrets have signed, from this revision on; 0 where there is none. */
export const coveredFrom = async (
  store: Pick<EventStore, 'read'>,
  signers: Signers,
  revision: number,
): Promise<number> => {
  let size = 0;
  for await (const event of store.read(checkpointStream, { from: revision }))
    if (isSignedByOurs(event, signers)) ({ size } = checkpointOf(event)!.checkpoint);
  return size;
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
  const { believed, passedOver, revision } = await keysIn(store, beliefOf(signers));
  if (revision === null) return undefined;
  const own = believed.findLast(isOwn(signers));
  if (own && (await canGoOn(store, signers, own.position))) return undefined;
  const numbers = [...believed, ...passedOver].map((key) => key.number).filter((each) => each < mostKeys);
  const number = Math.max(0, ...numbers) + 1;
  await store.append(keyStream, [nextKey(signers, number, own && signers(own.number), clock, actor)], revision);
  return signers(number).verifier;
};

const canGoOn = async (store: Pick<EventStore, 'read'>, signers: Signers, since: bigint): Promise<boolean> => {
  let newest: Recorded | undefined;
  for await (const event of store.read(checkpointStream)) newest = event;
  return newest === undefined || newest.position < since || isSignedByOurs(newest, signers);
};
