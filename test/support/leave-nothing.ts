import { afterAll } from 'vitest';
import { leaveNothing } from './weir-process.ts';

// Files hand their process on: what one has started ends with it.
afterAll(leaveNothing);
