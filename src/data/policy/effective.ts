import type { Refusal } from '../../errors.ts';
import type { AnyRule } from '../../rules/evaluate.ts';

export interface PolicyInForce {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly isEnforcing: boolean;
  /** With its threshold. */
  readonly judged: AnyRule;
}

/** Lowest id first. */
export interface EffectivePolicies {
  readonly request: readonly PolicyInForce[];
  readonly response: readonly PolicyInForce[];
}

/** The project of a request. */
export interface PolicySubject {
  readonly organizationId: string;
  readonly projectId: string;
}

/** By project (contract B.6). Synchronous. */
export interface PoliciesInForce {
  /** Null if none. */
  of(subject: PolicySubject): EffectivePolicies | null;
  /** Checks named policies. Naming adds none: those in force are in `of`. */
  refusalOf(subject: PolicySubject, named: readonly string[]): Refusal | null;
}
