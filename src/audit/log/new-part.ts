import type { Clock } from '../../clock.ts';
import type { Actor, EventStore, Recorded } from '../../kernel/store/store.ts';
import { signed, type Verifier } from '../../merkle/note.ts';
import { checkpointOf } from './checkpoint-event.ts';
import { beliefOf, isOwn, keysIn, mostKeys, nextKey, type Signers } from './keys.ts';
import { checkpointStream, keyStream } from './leaf.ts';

/** Compares the whole note: an additional signature line would be someone else's. */
export const isSignedByOurs = (event: Recorded, signers: Signers): boolean => {
  const said = checkpointOf(event);
  return said !== undefined && said.checkpoint.signed === signed(said.checkpoint.note.text, signers(said.key));
};

/** Leaves that our newest checkpoint covers, read from this revision on; 0 if there is none. */
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
 * Begins a part of the log that these secrets sign, if they cannot continue: none of its keys is theirs, or others
 * have signed its newest checkpoint. Only an operator may decide this, because the new part is unproven to anyone who
 * knows only the earlier keys.
 * @returns the key that signs from now on; undefined if the secrets can continue
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
  const numbers = [...believed, ...passedOver].map(({ number = 0 }) => number).filter((each) => each < mostKeys);
  const number = Math.max(0, ...numbers) + 1;
  await store.append(keyStream, [nextKey(signers, number, own && signers(own.number), clock, actor)], revision);
  return signers(number).verifier;
};

const canGoOn = async (store: Pick<EventStore, 'read'>, signers: Signers, since: bigint): Promise<boolean> => {
  let newest: Recorded | undefined;
  for await (const event of store.read(checkpointStream)) newest = event;
  return newest === undefined || newest.position < since || isSignedByOurs(newest, signers);
};
