import { type CredentialRow, credentialDigests, credentialRows } from '../../../projections/credentials.ts';
import { organizationRows } from '../../../projections/organizations.ts';
import { type ProjectRow, projectKeyOf, projectRows } from '../../../projections/projects.ts';
import { idOf } from '../../../projections/recorded.ts';
import { type AliasTable, aliasTable } from '../../aliases.ts';
import type { Code } from '../../errors.ts';
import type { ReadModels } from '../../kernel/projections/projection.ts';
import type { Recorded } from '../../kernel/store/store.ts';
import type { AllowedModels, Identity, Principal } from './principal.ts';

/** The secret was proven, so the reason may be shown (contract A.5). */
export interface Inactive extends Identity {
  readonly inactive: Extract<
    Code,
    'invalid_api_key' | 'api_key_revoked' | 'api_key_suspended' | 'api_key_expired' | 'invalid_access_token'
  >;
}

/**
 * Credentials in memory: 0.3 µs against 2–3 µs for the read model. An entry is forgotten before its
 * change is visible anywhere; no time-to-live. A command that takes access away marks it here before its answer.
 */
export interface Directory {
  /** Null if unknown. The caller checks expiry, and may keep the result until it is `stale`. */
  find(digest: string): Principal | Inactive | null;
  /**
   * Called for every batch before and after the read models commit it. In between its entries are read anew, because
   * another process may already have acknowledged the commit.
   */
  committing(batch: readonly Recorded[]): void;
  committed(batch: readonly Recorded[]): void;
  /** The read models were cleared. */
  cleared(): void;
  /** Until the read models have applied `position`. Null changes nothing: an earlier command has done it. */
  refuse(id: string, position: bigint | null, reason?: Inactive['inactive']): void;
}

type Refused = Map<string, { readonly position: bigint; readonly reason: Inactive['inactive'] }>;

/** About half a kilobyte each. */
const capacity = 200_000;

/** They decide whether a credential works. */
export const credentialTables = [credentialRows, organizationRows, projectRows];

export const directory = (models: () => ReadModels, limit = capacity): Directory => {
  const entries = new Map<string, { found: Principal | Inactive; groups: readonly string[] }>();
  /** Entries that a change of a key, project or organization makes stale. */
  const groups = new Map<string, Set<string>>();
  const refused: Refused = new Map();
  /** In the batch that is being committed. */
  const changing = new Set<string>();

  const forget = (digest: string): void => {
    const entry = entries.get(digest);
    if (!entry) return;
    entries.delete(digest);
    entry.found.stale = true;
    for (const id of entry.groups) {
      const members = groups.get(id);
      members?.delete(digest);
      if (members?.size === 0) groups.delete(id);
    }
  };

  const load = (digest: string): Principal | Inactive | null => {
    if (changing.size > 0) models().refresh();
    const row = models().get(credentialRows, Buffer.from(digest, 'latin1').toString('base64url'));
    if (!row) return null;
    const found = judge(models(), row, refused);
    const members = [row.id, row.organizationId, ...(row.ownerId ? [row.ownerId] : [])];
    if (members.some((id) => changing.has(id))) {
      found.stale = true;
      return found;
    }
    if (entries.size >= limit) forget(entries.keys().next().value as string);
    entries.set(digest, { found, groups: members });
    for (const id of members) groups.set(id, (groups.get(id) ?? new Set()).add(digest));
    return found;
  };

  const forgetAll = (id: string): void => {
    for (const digest of [...(groups.get(id) ?? [])]) forget(digest);
  };

  return {
    find: (digest) => entries.get(digest)?.found ?? load(digest),
    committing(batch) {
      for (const event of batch) {
        const id = idOf(event);
        changing.add(id);
        forgetAll(id);
      }
    },
    committed() {
      changing.clear();
      if (refused.size === 0) return;
      const reached = models().positionOf(credentialTables) ?? -1n;
      for (const [id, until] of refused) if (until.position <= reached) refused.delete(id);
    },
    cleared() {
      for (const digest of [...entries.keys()]) forget(digest);
      refused.clear();
    },
    refuse(id, position, reason = 'api_key_revoked') {
      const reached = models().positionOf(credentialTables);
      if (position === null || (reached !== null && reached >= position)) return;
      refused.set(id, { position, reason });
      forgetAll(id);
    },
  };
};

/** Shared sets: few differ, and they stay in the CPU's caches. */
const sets = new Map<string, ReadonlySet<string>>();
const mostSets = 1_000;

const setOf = (permissions: readonly string[]): ReadonlySet<string> => {
  const key = permissions.join(' ');
  let set = sets.get(key);
  if (set === undefined) {
    set = new Set(permissions);
    if (sets.size < mostSets) sets.set(key, set);
  }
  return set;
};

/** Shared by the keys of a project: the prepared answers to `GET /v1/models` are kept for each. */
const lists = new Map<string, AllowedModels>();

const allowedOf = ({ allowedModels, deniedModels }: ProjectRow): AllowedModels | null => {
  const ids = allowedModels ?? deniedModels;
  if (ids === null) return null;
  const areDenied = deniedModels !== null;
  // Quoted, since an id may contain any character.
  const key = JSON.stringify([areDenied, ids]);
  let list = lists.get(key);
  if (list === undefined) {
    list = { ids: new Set(ids), areDenied };
    if (lists.size < mostSets) lists.set(key, list);
  }
  return list;
};

/** Shared by the keys of a project: a table may have 100 kB. */
const tables = new Map<string, AliasTable | null>();
const mostTables = 100;

const tableOf = (aliases: ProjectRow['modelAliases']): AliasTable | null => {
  const entries = Object.entries(aliases);
  if (entries.length === 0) return null;
  const key = JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  let table = tables.get(key);
  if (table === undefined) {
    table = aliasTable(entries);
    if (tables.size === mostTables) tables.clear();
    tables.set(key, table);
  }
  return table;
};

/** One shape for all kinds: several shapes cost 1.4 µs per request at the gate (measured). */
class Found {
  // Read by every request, so kept together.
  stale = false;
  noted = false;
  usedAt = 0;
  readonly kind: Principal['kind'];
  readonly inactive: Inactive['inactive'] | undefined;
  readonly expiresAt: number | null;
  readonly permissions: ReadonlySet<string>;
  readonly organizationStatus: 'active' | 'suspended';
  readonly tier: number;
  readonly id: string;
  readonly organizationId: string;
  readonly projectId: string | undefined;
  readonly name: string;
  readonly projectName: string;
  readonly allowedModels: AllowedModels | null;
  readonly modelAliases: AliasTable | null;
  readonly windowsOf: string;
  readonly sharesWindows: boolean;

  constructor(whose: Whose, events: Events, inactive?: Inactive['inactive']) {
    this.kind = whose.kind;
    this.inactive = inactive;
    this.expiresAt = events.expiresAt;
    this.permissions = events.permissions;
    this.organizationStatus = events.organizationStatus;
    this.tier = events.tier;
    this.id = whose.id;
    this.organizationId = whose.organizationId;
    this.projectId = whose.projectId;
    this.name = events.name;
    this.projectName = events.projectName;
    this.allowedModels = events.allowedModels;
    this.modelAliases = events.modelAliases;
    this.windowsOf = whose.windowsOf;
    this.sharesWindows = whose.sharesWindows;
  }
}

type Whose = Pick<Found, 'kind' | 'id' | 'organizationId' | 'projectId' | 'windowsOf' | 'sharesWindows'>;
type Events = Pick<
  Found,
  | 'name'
  | 'projectName'
  | 'allowedModels'
  | 'modelAliases'
  | 'tier'
  | 'organizationStatus'
  | 'permissions'
  | 'expiresAt'
>;

const noEvents: Events = {
  name: '',
  projectName: '',
  allowedModels: null,
  modelAliases: null,
  tier: 0,
  organizationStatus: 'active',
  permissions: new Set(),
  expiresAt: null,
};

/** It works if it, its project or client, and its organization do. */
const judge = (models: ReadModels, row: CredentialRow, refused: Refused): Principal | Inactive => {
  const isToken = row.kind === 'oauth_token';
  const { organizationId } = row;
  // A token acts for its client: all its tokens are one caller (contract F.1, I).
  const whose: Whose = {
    kind: isToken ? 'oauth_client' : row.kind,
    id: isToken ? row.ownerId : row.id,
    organizationId,
    projectId: row.kind === 'project_key' ? row.ownerId : undefined,
    windowsOf: row.windowsOf,
    sharesWindows: row.sharesWindows,
  };
  const inactive = (reason: Inactive['inactive']): Inactive => new Found(whose, noEvents, reason) as Inactive;
  const organization = models.get(organizationRows, organizationId);
  if (!organization || row.status === 'deleted') return inactive('invalid_api_key');
  const isClosed = row.status === 'revoked' || organization.status === 'closed';
  if (isClosed) return inactive(isToken ? 'invalid_access_token' : 'api_key_revoked');
  const mark = refused.get(row.ownerId) ?? refused.get(row.id);
  if (mark) return inactive(mark.reason);
  const events: Events = {
    name: row.name,
    projectName: '',
    allowedModels: null,
    modelAliases: null,
    tier: organization.tier,
    organizationStatus: organization.status === 'active' ? 'active' : 'suspended',
    permissions: setOf(row.permissions),
    expiresAt: row.expiresAt,
  };
  if (row.kind === 'project_key') {
    const project = models.get(projectRows, projectKeyOf(organizationId, row.ownerId));
    if (project?.status !== 'active') return inactive('api_key_revoked');
    if (row.status === 'suspended') return inactive('api_key_suspended');
    if (row.status === 'expired') return inactive('api_key_expired');
    const { name: projectName } = project;
    const [allowedModels, modelAliases] = [allowedOf(project), tableOf(project.modelAliases)];
    return new Found(whose, { ...events, projectName, allowedModels, modelAliases }) as Principal;
  }
  if (row.kind === 'admin_key') return new Found(whose, events) as Principal;
  if (row.kind === 'oauth_client') return new Found({ ...whose, kind: 'client_secret' }, events) as Principal;
  const known = models.get(credentialDigests, row.ownerId);
  const client = known && models.get(credentialRows, known.digest);
  if (client?.status !== 'active') return inactive('invalid_access_token');
  return new Found(whose, { ...events, name: client.name }) as Principal;
};
