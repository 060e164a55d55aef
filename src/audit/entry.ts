import type { Category, EventOf } from '../domain/aggregates.ts';
import type { AccessDenied } from '../domain/key/access-events.ts';
import type { DomainEvent } from '../kernel/aggregate/aggregate.ts';

/** Types of entries (contract C.6), with the names of the `openai` SDK where it has one. */
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
  'model_permissions.updated',
  'rate_limit.updated',
  'spend_limit.updated',
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

export interface Place {
  readonly organizationId: string;
  readonly projectId?: string | undefined;
  readonly resourceId: string;
}

/** What the audit log shows of an event. Never a secret, a digest or the text of a rule. */
export interface Entry extends Place {
  readonly type: AuditType;
  readonly data?: Fields | undefined;
  readonly changesRequested?: Fields | undefined;
}

/** What is kept of a resource to place later events and to tell what they changed. */
export interface Subject {
  readonly organizationId: string;
  readonly projectId?: string;
  /** As last shown. */
  readonly fields?: Fields;
  readonly ruleDigest?: string;
}

/** An entry without its place, and the new subject if it has changed. */
interface Words extends Omit<Entry, keyof Place> {
  readonly subject?: Subject;
}

/** The type of each event's entry, or a function of the event; null for an internal event such as an admission. */
type Vocabulary<F extends DomainEvent> = {
  readonly [T in F['type']]: AuditType | null | ((event: Extract<F, { readonly type: T }>, known: Subject) => Words);
};

export interface Wording<F extends DomainEvent> {
  /** Default: the place of the resource itself. */
  readonly place?: (id: string, known: Subject, event: F) => Place;
  readonly words: Vocabulary<F>;
}

/** Null for kinds that have no entries. */
export type Wordings = { readonly [C in Category]: Wording<EventOf<C>> | null } & {
  readonly denial: Wording<AccessDenied>;
};
