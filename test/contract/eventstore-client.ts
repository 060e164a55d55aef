import { clientFor, type Target } from '../../src/eventstoredb/target.ts';
import type { Client } from './target.ts';

export const eventStoreClient = (target: Target): Client => clientFor(target);
