import { day } from '../usage/day.ts';
import type { Direction } from './policy-terms.ts';

/** What policies made of requests, as it is recorded in batches: no command leads to it and no chart admits it. */

/** Seconds that they are kept, 30 days (contract B.7). */
export const decisionSeconds = 30 * 24 * 3600;

/** What one policy made of one request or answer; nothing of its content (contract B.7). */
export interface Decision {
  readonly id: string;
  readonly organization_id: string;
  readonly policy_id: string;
  readonly version: number;
  readonly direction: Direction;
  readonly verdict: 'monitored' | 'blocked' | 'error';
  /** 0..10000; null where the rule could not be evaluated. */
  readonly score_basis_points: number | null;
  readonly request_id: string;
  readonly project_id: string;
  readonly key_id: string;
  /** Milliseconds. */
  readonly decided_at: number;
}

/** On `policyDecision-<day>`: decisions of whichever organizations. */
export interface PoliciesDecided {
  readonly type: 'policies.decided';
  readonly decisions: readonly Decision[];
}

export const decisionStream = (at: number): string => `policyDecision-${day(at)}`;
