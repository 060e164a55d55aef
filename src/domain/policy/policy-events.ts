import type { Changes } from '../../kernel/aggregate/aggregate.ts';
import { defaultTerms, type Terms, type TermsFields, termsOf } from './policy-terms.ts';

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
  /** Counts all changes; callers name the one that they have seen. */
  readonly revision: number;
  readonly draft: Terms;
  /** Null until the first publish. Its number is also the draft's base version. */
  readonly current: PolicyVersion | null;
  /** The revision of the latest pause, so that it can be repeated; 0 before the first. */
  readonly pausedRevision: number;
}

export type PolicyEvent =
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
  /** Contains everything in force, so that this event alone is the evidence. */
  | ({
      readonly type: 'policy.published';
      readonly version_id: string;
      readonly version: number;
      readonly published_at: number;
    } & TermsFields)
  | { readonly type: 'policy.paused'; readonly paused_at: number }
  | { readonly type: 'policy.resumed'; readonly resumed_at: number }
  | { readonly type: 'policy.deleted'; readonly deleted_at: number };

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

const revised = (data: Policy, changes: Partial<Policy>): Policy => ({
  ...data,
  revision: data.revision + 1,
  ...changes,
});

export const applyPolicy: Changes<Policy, PolicyEvent> = {
  'policy.created': (data, event) =>
    revised(data, {
      organizationId: event.organization_id,
      name: event.name,
      description: event.description,
      createdAt: event.created_at,
      updatedAt: event.created_at,
      draft: termsOf(event),
    }),
  'policy.updated': (data, event) =>
    revised(data, {
      name: event.name,
      description: event.description,
      updatedAt: event.updated_at,
      draft: termsOf(event),
    }),
  'policy.published': (data, event) => {
    const draft = termsOf(event);
    const current = { id: event.version_id, version: event.version, publishedAt: event.published_at, ...draft };
    return revised(data, { updatedAt: event.published_at, draft, current });
  },
  'policy.paused': (data, event) => revised(data, { updatedAt: event.paused_at, pausedRevision: data.revision }),
  'policy.resumed': (data, event) => revised(data, { updatedAt: event.resumed_at }),
  'policy.deleted': (data, event) => revised(data, { updatedAt: event.deleted_at }),
};
