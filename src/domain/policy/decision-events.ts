import { day } from '../usage/day.ts';
import type { Direction } from './policy-terms.ts';

/** 30 days (contract B.7). */
export const decisionSeconds = 30 * 24 * 3600;

/** Without any content of the request (contract B.7). */
export interface Decision {
  readonly id: string;
  readonly organization_id: string;
  readonly policy_id: string;
  readonly version: number;
  readonly direction: Direction;
  readonly verdict: 'monitored' | 'blocked' | 'error';
  /** 0..10000; null if the rule failed. */
  readonly score_basis_points: number | null;
  readonly request_id: string;
  readonly project_id: string;
  readonly key_id: string;
  /** Milliseconds. */
  readonly decided_at: number;
}

/** On `policyDecision-<day>`, of any organizations. */
export interface PoliciesDecided {
  readonly type: 'policies.decided';
  readonly decisions: readonly Decision[];
}

export const decisionStream = (at: number): string => `policyDecision-${day(at)}`;
