/** What the administration should be, as plainly as it can be said: no events, no streams, no read models. */

export const hour = 3_600_000;

export interface AdminKey {
  readonly id: string;
  readonly value: string;
  readonly name: string;
  readonly permissions: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  isDeleted: boolean;
  /** Unix seconds of the last use that was recorded. */
  usedAt: number | null;
}

export interface SpendLimit {
  readonly amount: number;
  readonly interval: string;
}

export interface Key {
  readonly id: string;
  readonly redacted: string;
  readonly createdAt: number;
  name: string;
  permissions: readonly string[];
  expiresAt: number | null;
  /** As recorded; what the clock makes of it is `statusOf`. */
  state: 'active' | 'suspended' | 'expired' | 'revoked';
  /** Ids of the keys before and behind it in its line. */
  readonly rotatedFrom: string | null;
  rotatedTo: string | null;
  /** As it was last given one itself; its successor's counts. */
  spendLimit: SpendLimit | null;
}

export interface Project {
  readonly id: string;
  readonly createdAt: number;
  name: string;
  archivedAt: number | null;
  allowedModels: readonly string[] | null;
  /** Null beside a list of what is allowed. */
  deniedModels: readonly string[] | null;
  /** Requests a day, of its own. */
  perDay: number | null;
  /** In cents a month. */
  spendLimit: number | null;
  /** In micro-dollars. */
  spent: number;
  modelAliases: Readonly<Record<string, string>>;
  readonly keys: Map<string, Key>;
}

export interface Terms {
  rule: string;
  direction: string;
  mode: string;
  scope: string;
  project_ids: readonly string[];
  match_threshold_basis_points: number;
}

export interface Version extends Terms {
  readonly id: string;
  readonly version: number;
  readonly publishedAt: number;
}

export interface Policy {
  readonly id: string;
  readonly createdAt: number;
  name: string;
  description: string;
  updatedAt: number;
  revision: number;
  draft: Terms;
  readonly versions: Version[];
  /** The revision that the pause in effect was given. */
  pausedFrom: number | null;
  isDeleted: boolean;
}

export interface AuditEntry {
  readonly type: string;
  readonly resource: string;
  readonly actor: string;
}

interface Repeatable {
  readonly body: string;
  /** The answer, to the byte. */
  readonly text: string;
  readonly id: string;
  readonly completedAt: number;
  readonly stands: () => boolean;
  /** Sends it once more. */
  readonly again: () => Promise<void>;
}

export const statusOf = (key: Key, project: Project, now: number): Key['state'] => {
  if (key.state === 'revoked' || project.archivedAt !== null) return 'revoked';
  return key.state === 'expired' || (key.expiresAt !== null && key.expiresAt <= now) ? 'expired' : key.state;
};

export const currentOf = (policy: Policy): Version | undefined => policy.versions.at(-1);

export const stateOf = (policy: Policy): string =>
  policy.pausedFrom !== null ? 'paused' : (currentOf(policy)?.mode ?? 'draft');

const termsText = ({
  rule,
  direction,
  mode,
  scope,
  project_ids,
  match_threshold_basis_points: points,
}: Terms): string => JSON.stringify([rule, direction, mode, scope, [...project_ids].sort(), points]);

export const sameTerms = (a: Terms, b: Terms): boolean => termsText(a) === termsText(b);

export const isUnpublished = (policy: Policy): boolean => {
  const current = currentOf(policy);
  return current === undefined || !sameTerms(policy.draft, current);
};

/** One organization. */
export class Tenant {
  readonly id: string;
  name = '';
  createdAt = 0;
  status: 'active' | 'suspended' | 'closed' = 'active';
  /** In micro-dollars. */
  paid = 0;
  plan = 'Free';
  /** In cents a month. */
  spendLimit: number | null = null;
  /** What was entered under each reference. */
  readonly references = new Map<string, string>();
  readonly adminKeys = new Map<string, AdminKey>();
  readonly projects = new Map<string, Project>();
  readonly policies = new Map<string, Policy>();
  /** Oldest first. */
  readonly audit: AuditEntry[] = [];
  readonly repeatables = new Map<string, Repeatable>();
  /** Gathered and not recorded yet. */
  readonly used = new Map<string, number>();
  readonly denied = new Map<string, string>();

  constructor(id: string) {
    this.id = id;
  }

  /** What the gate makes of a request: the refusal, or null; and what it notes of it. */
  gate(caller: AdminKey, permission: string, route: string, now: number): string | null {
    const refuse = (refusal: string): string => {
      this.deny(caller.id, route, refusal, now);
      return refusal;
    };
    if (caller.isDeleted) return refuse('401 invalid_api_key');
    if (this.status === 'closed') return refuse('401 api_key_revoked');
    if (caller.expiresAt !== null && caller.expiresAt <= now) return refuse('401 api_key_expired');
    this.used.set(caller.id, Math.floor(now / 1000));
    if (!caller.permissions.includes(permission)) return refuse('403 insufficient_permissions');
    if (this.status === 'suspended' && !permission.endsWith(':read')) return refuse('403 organization_suspended');
    return null;
  }

  /** One entry a minute, credential, route and code. */
  deny(credential: string, route: string, refusal: string, now: number): void {
    this.denied.set(`${Math.floor(now / 60_000)} ${credential} ${route} ${refusal.slice(4)}`, credential);
  }

  /** Whether somebody but this key could make Admin keys. */
  hasOtherWriter(id: string, now: number): boolean {
    return [...this.adminKeys.values()].some(
      (key) =>
        key.id !== id &&
        !key.isDeleted &&
        key.permissions.includes('admin_api_keys:write') &&
        (key.expiresAt === null || key.expiresAt > now),
    );
  }
}
