import canonicalize from 'canonicalize';
import { isRemovable } from '../../domain/streams.ts';
import { type Hashed, hashOf, leafHash } from '../../kernel/store/event-hash.ts';

/** Checkpoints are about the tree and are not leaves of it. */
export const checkpointStream = 'auditLog-checkpoints';
export const keyStream = 'auditLog-keys';

export interface Leaf {
  /** Base64. */
  readonly hash: string;
  /** Of an event that may be removed: the text that the leaf is the hash of. */
  readonly stub?: string;
}

export interface Stub {
  readonly hash: string;
  readonly revision: number;
  readonly stream: string;
}

const stubText = ({ hash, revision, stream }: Stub): string => canonicalize({ hash, revision, stream }) as string;

export const leafOf = (event: Hashed, hash: string = hashOf(event)): Leaf => {
  const { stream, revision } = event;
  if (!isRemovable(stream)) return { hash };
  const stub = stubText({ hash, revision, stream });
  return { hash: leafHash(stub), stub };
};

/** Undefined unless the text is the canonical stub of an event that may be removed. */
export const stubOf = (text: string): Stub | undefined => {
  try {
    const stub = JSON.parse(text) as Stub;
    return isRemovable(stub.stream) && stubText(stub) === text ? stub : undefined;
  } catch {
    return undefined;
  }
};
