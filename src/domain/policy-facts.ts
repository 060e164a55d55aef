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
  /** The revision that the pause in effect was given: who sends that pause again has caused it. Null while not paused. */
  readonly pausedFrom: number | null;
  readonly deletedAt: number | null;
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
  pausedFrom: null,
  deletedAt: null,
};

/** What each fact changes. Every one of them is a revision. */
export const applyPolicy = (before: Policy, fact: PolicyFact): Policy => {
  const data = { ...before, revision: before.revision + 1 };
  switch (fact.type) {
    case 'policy.created': {
      const { organization_id: organizationId, name, description, created_at: at } = fact;
      return {
        ...data,
        organizationId,
        name,
        description,
        createdAt: at,
        updatedAt: at,
        draft: termsOf(fact),
      };
    }
    case 'policy.updated': {
      const { name, description, updated_at: updatedAt } = fact;
      return { ...data, name, description, updatedAt, draft: termsOf(fact) };
    }
    case 'policy.published': {
      const draft = termsOf(fact);
      const current = { id: fact.version_id, version: fact.version, publishedAt: fact.published_at, ...draft };
      return { ...data, updatedAt: fact.published_at, draft, current };
    }
    case 'policy.paused':
      return { ...data, updatedAt: fact.paused_at, pausedFrom: before.revision };
    case 'policy.resumed':
      return { ...data, updatedAt: fact.resumed_at, pausedFrom: null };
    case 'policy.deleted':
      return { ...data, updatedAt: fact.deleted_at, deletedAt: fact.deleted_at };
  }
};
