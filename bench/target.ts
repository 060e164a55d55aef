import type { Address } from './gen/connection.ts';
import type { KeyPlan } from './gen/requests.ts';

/** What a Node server under test says of itself, since it was last asked to forget. Times are milliseconds. */
export interface Inside {
  readonly pauses: { readonly count: number; readonly longest: number; readonly sum: number };
  readonly loopDelay: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly heapUsed: number;
  readonly rss: number;
}

/** A server that load can be sent to. */
export interface Target {
  readonly name: string;
  readonly address: Address;
  /** Null where it does not run on this machine: then there is no CPU time of it. */
  readonly pid: number | null;
  readonly keys: KeyPlan;
  /** Why it has ended by itself, where it has. */
  lost(): string | undefined;
  forget?(): Promise<void>;
  inside?(): Promise<Inside>;
}

/** Who does without a key. */
export const noKeys: KeyPlan = { keys: [], zipf: 0 };

/** @throws Error where the address has a path: requests name their own */
export const addressOf = (url: URL): Address => {
  if (url.pathname !== '/') throw new Error(`Give the address without a path: ${url.origin}.`);
  const tls = url.protocol === 'https:';
  return { host: url.hostname, port: Number(url.port || (tls ? 443 : 80)), tls };
};
