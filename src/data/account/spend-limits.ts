import type { Millis } from '../../clock.ts';
import type { SpendLimit } from '../../domain/usage/spend-limit.ts';

/** A spend limit in force. */
export interface Limited {
  /** Of a key: the first of its chain of rotations, whose keys spend together. */
  readonly id: string;
  readonly scope: 'key' | 'project' | 'organization';
  readonly limit: SpendLimit;
  /** Where a request within it holds its price: its line, project and organization. One without a limit may get one meanwhile. */
  readonly spenders: readonly string[];
  /** Micro-dollars in the running period, by the event log. */
  spent(at: Millis): number;
}

/** Asked for each request. */
export interface SpendSource {
  /** One shared list where there is none. @param line the first key of its chain of rotations */
  limitsOf(line: string, project: string, organization: string): readonly Limited[];
}

export const unlimited: readonly Limited[] = Object.freeze([]);
export const noSpendLimits: SpendSource = { limitsOf: () => unlimited };
