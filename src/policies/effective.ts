import type { Refusal } from '../errors.ts';
import type { AnyRule } from '../rules/evaluate.ts';

/** A policy that is in force, in the version that is. */
export interface PolicyInForce {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly isEnforcing: boolean;
  /** With the score from which it matches. */
  readonly judged: AnyRule;
}

/** The policies that a request is judged by, the lowest id first. */
export interface EffectivePolicies {
  readonly request: readonly PolicyInForce[];
  readonly response: readonly PolicyInForce[];
}

/** Whose request it is. */
export interface PolicySubject {
  readonly organizationId: string;
  readonly projectId: string;
}

/** The policies in force, by who asks (contract B.6). Never waits. */
export interface PoliciesInForce {
  /** Null where there is none. */
  of(subject: PolicySubject): EffectivePolicies | null;
  /** Judges the policies that a request names: those that are in force for it are in `of`, so that naming adds nothing. */
  refusalOf(subject: PolicySubject, named: readonly string[]): Refusal | null;
}
