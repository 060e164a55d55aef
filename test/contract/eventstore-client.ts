import { clientFor, type Target } from '../../src/kernel/client-target.ts';
import type { Client } from './target.ts';

export const eventStoreClient = (target: Target): Client => clientFor(target);
