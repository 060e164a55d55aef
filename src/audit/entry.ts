import type { Category, EventOf } from '../domain/aggregates.ts';
import type { AccessDenied } from '../domain/key/access-events.ts';
import type { DomainEvent } from '../kernel/aggregate/aggregate.ts';

/** What an entry of the audit log can be about (contract C.6). Names equal the `openai` SDK's where it has one. */
export const auditTypes = [
  'access.denied',
  'organization.created',
  'organization.closed',
  'organization.updated',
  'organization.suspended',
  'organization.reactivated',
  'organization.tier_changed',
  'billing.credited',
  'billing.refunded',
  'billing.subscription_updated',
  'project.created',
  'project.updated',
  'project.archived',
  'api_key.created',
  'api_key.updated',
  'api_key.rotated',
  'api_key.suspended',
  'api_key.reactivated',
  'api_key.expired',
  'api_key.deleted',
  'api_key.value_replayed',
  'admin_api_key.created',
  'admin_api_key.deleted',
  'policy.created',
  'policy.updated',
  'policy.published',
  'policy.paused',
  'policy.resumed',
  'policy.deleted',
  'oauth_client.created',
  'oauth_client.deleted',
] as const;
export type AuditType = (typeof auditTypes)[number];

export type Fields = Readonly<Record<string, unknown>>;

/** Where an event happened, and to what. */
export interface Place {
  readonly organizationId: string;
  /** The project that it happened in. */
  readonly projectId?: string | undefined;
  /** What it happened to. */
  readonly resourceId: string;
}

/** What of one event the audit log shows. Never a secret, a digest or the text of a rule. */
export interface Entry extends Place {
  readonly type: AuditType;
  readonly data?: Fields | undefined;
  readonly changesRequested?: Fields | undefined;
}

/** What is remembered of a resource, so that a later event can be said to belong somewhere and to have changed something. */
export interface Subject {
  readonly organizationId: string;
  /** Of a project key. */
  readonly projectId?: string;
  /** As they were shown last. */
  readonly fields?: Fields;
  /** Of a policy's rule. */
  readonly ruleDigest?: string;
}

/** An entry but for its place, and what is to be remembered of the resource from now on, where that has changed. */
interface Words extends Omit<Entry, keyof Place> {
  readonly subject?: Subject;
}

/**
 * How each event of one kind is worded: by the name of its entry alone, or with details. Null for one that is the machinery
 * of another: an admission, a reservation. Without an entry for every event it does not compile.
 */
type Vocabulary<F extends DomainEvent> = {
  readonly [T in F['type']]: AuditType | null | ((event: Extract<F, { readonly type: T }>, known: Subject) => Words);
};

export interface Wording<F extends DomainEvent> {
  /** Where an event happened; by default where its resource belongs, and to that resource. */
  readonly place?: (id: string, known: Subject, event: F) => Place;
  readonly words: Vocabulary<F>;
}

/** The wording of every kind of aggregate, null for those whose events are nobody's history; and of refused requests. */
export type Wordings = { readonly [C in Category]: Wording<EventOf<C>> | null } & {
  readonly denial: Wording<AccessDenied>;
};
