import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Recorded } from './store.ts';

/** What of an event is hashed: all of it but its place in the global order, which another store that takes it over assigns anew. */
export type Hashed = Pick<Recorded, 'stream' | 'revision' | 'id' | 'type' | 'data' | 'metadata'>;

/** The event as RFC 8785 writes it: the same text for the same event, whoever has stored or copied it. */
export const canonicalEvent = ({ stream, revision, id, type, data, metadata }: Hashed): string =>
  canonicalize({ stream, revision, id, type, data, metadata }) as string;

/** The hash of a leaf of an RFC 6962 tree, base64: SHA-256 of a zero byte and the text. */
export const leafHash = (text: string): string => hash('sha256', `\0${text}`, 'base64');

/** What the event behind this one on its stream names as `prev`, and what its leaf in the tree is. */
export const hashOf = (event: Hashed): string => leafHash(canonicalEvent(event));
