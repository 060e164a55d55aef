import canonicalize from 'canonicalize';
import { isRemovable } from '../../domain/streams.ts';
import { type Hashed, hashOf, leafHash } from '../../kernel/store/event-hash.ts';

/** The stream of the checkpoints. They speak of the tree and are no leaves of it. */
export const checkpointStream = 'auditLog-checkpoints';
/** The stream of the keys that sign them. */
export const keyStream = 'auditLog-keys';

/** One leaf of the tree. */
export interface Leaf {
  /** Base64. */
  readonly hash: string;
  /** Of an event that may be removed: the text whose hash is the leaf. It holds the event's own hash and where it was. */
  readonly stub?: string;
}

/** What stays of an event that may be removed. */
export interface Stub {
  /** `hashOf` the event. */
  readonly hash: string;
  readonly revision: number;
  readonly stream: string;
}

const stubText = ({ hash, revision, stream }: Stub): string => canonicalize({ hash, revision, stream }) as string;

/** @param hash what `hashOf` says of the event, where that is known already */
export const leafOf = (event: Hashed, hash: string = hashOf(event)): Leaf => {
  const { stream, revision } = event;
  if (!isRemovable(stream)) return { hash };
  const stub = stubText({ hash, revision, stream });
  return { hash: leafHash(stub), stub };
};

/** The stub that a text is, where it is one of an event that may be gone; undefined otherwise. */
export const stubOf = (text: string): Stub | undefined => {
  try {
    const stub = JSON.parse(text) as Stub;
    return isRemovable(stub.stream) && stubText(stub) === text ? stub : undefined;
  } catch {
    return undefined;
  }
};
