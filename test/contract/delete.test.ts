import { describe } from 'vitest';
import { eventStoreClient } from './eventstore-client.ts';
import { deleteContract } from './shared/delete.ts';
import { useServer } from './target.ts';

useServer(eventStoreClient);

describe('through @eventstore/db-client', deleteContract);
