import type { TestProject } from 'vitest/node';
import { startRemoteStore } from './tls-store.ts';
import { leaveNothing } from './weir-process.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The connection string of a store that all test files share, with WEIR_EVENTSTORE=tls. */
    tlsStore?: string;
  }
}

/** With WEIR_EVENTSTORE=tls, one store for the whole run that is none of the tests' own. */
export default async ({ provide }: TestProject): Promise<(() => void) | undefined> => {
  if (process.env.WEIR_EVENTSTORE !== 'tls') return;
  // The successor's client takes a password as it stands in the connection string, `%` and all.
  provide('tlsStore', (await startRemoteStore({ password: 'password' })).url);
  return leaveNothing;
};
