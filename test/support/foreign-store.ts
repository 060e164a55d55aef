import type { TestProject } from 'vitest/node';
import { startRemoteStore } from './tls-store.ts';
import { leaveNothing } from './weir-process.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The connection string of a store that all test files share, in the projects that test over TLS. */
    tlsStore?: string;
  }
}

/** One store over TLS for all test files of the project, none of which has started it. */
export default async ({ provide }: TestProject): Promise<() => void> => {
  // The successor's client takes a password as it stands in the connection string, `%` and all.
  provide('tlsStore', (await startRemoteStore({ password: 'password' })).url);
  return leaveNothing;
};
