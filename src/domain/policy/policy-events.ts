import type { Changes } from '../../kernel/aggregate/aggregate.ts';
import { defaultTerms, type Terms, type TermsFields, termsOf } from './policy-terms.ts';

/** A published version; what it says never changes. */
export interface PolicyVersion extends Terms {
  readonly id: string;
  /** 1, 2, … */
  readonly version: number;
  readonly publishedAt: number;
}

/** An organization's policy (contract B.5). Times in milliseconds. */
export interface Policy {
  readonly organizationId: string;
  readonly name: string;
  readonly description: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Counts the accepted changes of every kind; callers name the one that they have seen. */
  readonly revision: number;
  readonly draft: Terms;
  /** Null until the first publish. Its number is also the draft's base, since a publish leaves nothing unpublished. */
  readonly current: PolicyVersion | null;
  /** The revision that the latest pause was given: who sends that pause again has caused it. 0 before the first. */
  readonly pausedRevision: number;
}

export type PolicyFact =
  | ({
      readonly type: 'policy.created';
      readonly organization_id: string;
      readonly name: string;
      readonly description: string;
      readonly created_at: number;
    } & TermsFields)
  | ({
      readonly type: 'policy.updated';
      readonly name: string;
      readonly description: string;
      readonly updated_at: number;
    } & TermsFields)
  /** Says in full what is in force from now on, so that this one event proves it. */
  | ({
      readonly type: 'policy.published';
      readonly version_id: string;
      readonly version: number;
      readonly published_at: number;
    } & TermsFields)
  | { readonly type: 'policy.paused'; readonly paused_at: number }
  | { readonly type: 'policy.resumed'; readonly resumed_at: number }
  | { readonly type: 'policy.deleted'; readonly deleted_at: number };

/** The data before the first fact. */
export const blankPolicy: Policy = {
  organizationId: '',
  name: '',
  description: '',
  createdAt: 0,
  updatedAt: 0,
  revision: 0,
  draft: defaultTerms,
  current: null,
  pausedRevision: 0,
};

/** The data at its next revision: every fact is one. */
const revised = (data: Policy, changes: Partial<Policy>): Policy => ({
  ...data,
  revision: data.revision + 1,
  ...changes,
});

export const applyPolicy: Changes<Policy, PolicyFact> = {
  'policy.created': (data, fact) =>
    revised(data, {
      organizationId: fact.organization_id,
      name: fact.name,
      description: fact.description,
      createdAt: fact.created_at,
      updatedAt: fact.created_at,
      draft: termsOf(fact),
    }),
  'policy.updated': (data, fact) =>
    revised(data, {
      name: fact.name,
      description: fact.description,
      updatedAt: fact.updated_at,
      draft: termsOf(fact),
    }),
  'policy.published': (data, fact) => {
    const draft = termsOf(fact);
    const current = { id: fact.version_id, version: fact.version, publishedAt: fact.published_at, ...draft };
    return revised(data, { updatedAt: fact.published_at, draft, current });
  },
  'policy.paused': (data, fact) => revised(data, { updatedAt: fact.paused_at, pausedRevision: data.revision }),
  'policy.resumed': (data, fact) => revised(data, { updatedAt: fact.resumed_at }),
  'policy.deleted': (data, fact) => revised(data, { updatedAt: fact.deleted_at }),
};
