import { type AdminKeyEvent, adminKey } from '../src/domain/key/admin-key.ts';
import { type ProjectKeyEvent, projectKey } from '../src/domain/key/project-key.ts';
import { type OAuthClientEvent, oauthClient } from '../src/domain/oauth/oauth-client.ts';
import { type OAuthTokenEvent, oauthToken, tokenStreamSeconds } from '../src/domain/oauth/oauth-token.ts';
import { compile } from '../src/kernel/aggregate/chart.ts';
import type { Projection, Rows } from '../src/kernel/projections/projection.ts';
import { table } from '../src/kernel/rows/rows.ts';
import { eventOf, idOf, nextStatus } from './recorded.ts';

/** A credential by its own stream; whether it works depends on its owners, too. */
export interface CredentialRow {
  readonly kind: 'project_key' | 'admin_key' | 'oauth_client' | 'oauth_token';
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  /** The project of a project key, the OAuth client of a token, else empty. */
  readonly ownerId: string;
  readonly permissions: readonly string[];
  readonly expiresAt: number | null;
  /** The first key of a project key's chain of rotations, whose windows count it; empty for itself. */
  readonly windowsOf: string;
  /** Whether other keys share its windows. */
  readonly sharesWindows: boolean;
  readonly status: string;
}

/** Key: the digest as in the event. */
export const credentialRows = table<CredentialRow>('credentials');
export const credentialDigests = table<{ readonly digest: string }>('credential-digests');

interface QueuedToken {
  readonly id: string;
  readonly digest: string;
  /** Milliseconds. */
  readonly issuedAt: number;
}

/** Tokens in the order of issue. Key: their number. A new one removes old ones whose streams have expired. */
const queuedTokens = table<QueuedToken>('oauth-token-queue');
const endOfQueue = table<{ readonly first: number; readonly next: number }>('oauth-token-queue-ends');

/** More than one, so that a long queue shrinks. */
const leaveAtOnce = 3;

type CredentialEvent = ProjectKeyEvent | AdminKeyEvent | OAuthClientEvent | OAuthTokenEvent;
type Creation = Extract<CredentialEvent, { readonly digest: string }>;

const kinds = {
  projectKey: 'project_key',
  adminKey: 'admin_key',
  oauthClient: 'oauth_client',
  oauthToken: 'oauth_token',
} as const;
const charts = {
  project_key: compile(projectKey),
  admin_key: compile(adminKey),
  oauth_client: compile(oauthClient),
  oauth_token: compile(oauthToken),
} as const;

export const credentials: Projection = {
  name: 'credentials',
  version: 3,
  categories: Object.keys(kinds),
  tables: [credentialRows, credentialDigests, queuedTokens, endOfQueue],
  apply(recorded, rows) {
    const id = idOf(recorded);
    const kind = kinds[recorded.stream.slice(0, recorded.stream.indexOf('-')) as keyof typeof kinds];
    const event = eventOf<CredentialEvent>(recorded);
    const isCreation = 'digest' in event;
    const digest = isCreation ? event.digest : rows.get(credentialDigests, id)?.digest;
    // A token's stream expires, so its first event may be gone when a later one arrives.
    if (digest === undefined && kind === 'oauth_token') return;
    rows.put(credentialRows, digest ?? '', next(rows, kind, id, digest ?? '', event));
    if (isCreation) rows.put(credentialDigests, id, { digest: event.digest });
    if (event.type !== 'oauth_token.issued') return;
    for (const over of enqueue(rows, { id, digest: event.digest, issuedAt: event.issued_at })) {
      rows.remove(credentialRows, over.digest);
      rows.remove(credentialDigests, over.id);
    }
  },
};

const next = (
  rows: Rows,
  kind: CredentialRow['kind'],
  id: string,
  digest: string,
  event: CredentialEvent,
): CredentialRow => {
  const before = rows.get(credentialRows, digest);
  const status = nextStatus(charts[kind], id, before?.status ?? 'absent', event);
  if ('digest' in event) {
    return { kind, id, organizationId: event.organization_id, status, ...windows(event), ...own(event) };
  }
  if (!before) throw new Error(`${event.type} of a credential that has no row: ${id}`);
  return { ...before, status, ...changed(event) };
};

/** Exhaustive: an unlisted event does not compile. */
const changed = (
  event: Exclude<CredentialEvent, Creation>,
): Partial<Pick<CredentialRow, 'name' | 'permissions' | 'expiresAt' | 'sharesWindows'>> => {
  switch (event.type) {
    case 'project_key.updated':
      return { name: event.name, permissions: event.permissions, expiresAt: event.expires_at };
    case 'project_key.rotated':
      return { expiresAt: event.expires_at, sharesWindows: true };
    case 'project_key.limits_updated':
    case 'project_key.spend_limited':
    case 'project_key.suspended':
    case 'project_key.reactivated':
    case 'project_key.revoked':
    case 'project_key.expired':
    case 'project_key.value_replayed':
    case 'admin_key.deleted':
    case 'admin_key.value_replayed':
    case 'oauth_client.deleted':
    case 'oauth_token.revoked':
      return {};
  }
};

const windows = (event: Creation): Pick<CredentialRow, 'windowsOf' | 'sharesWindows'> => {
  const windowsOf = event.type === 'project_key.created' ? (event.windows_of ?? '') : '';
  return { windowsOf, sharesWindows: windowsOf !== '' };
};

const own = (event: Creation): Pick<CredentialRow, 'name' | 'ownerId' | 'permissions' | 'expiresAt'> => {
  switch (event.type) {
    case 'project_key.created':
      return {
        name: event.name,
        ownerId: event.project_id,
        permissions: event.permissions,
        expiresAt: event.expires_at,
      };
    case 'admin_key.created':
      return { name: event.name, ownerId: '', permissions: event.permissions, expiresAt: event.expires_at };
    case 'oauth_client.created':
      return { name: event.name, ownerId: '', permissions: event.permissions, expiresAt: null };
    case 'oauth_token.issued':
      return { name: '', ownerId: event.client_id, permissions: event.scope, expiresAt: event.expires_at };
  }
};

/** Appends a token. @returns the removed expired ones */
const enqueue = (rows: Rows, token: QueuedToken): readonly QueuedToken[] => {
  let { first, next } = rows.get(endOfQueue, 'ends') ?? { first: 0, next: 0 };
  rows.put(queuedTokens, String(next), token);
  next += 1;
  const gone: QueuedToken[] = [];
  while (gone.length < leaveAtOnce && first < next) {
    const oldest = rows.get(queuedTokens, String(first));
    if (oldest && token.issuedAt - oldest.issuedAt < tokenStreamSeconds * 1000) break;
    rows.remove(queuedTokens, String(first));
    if (oldest) gone.push(oldest);
    first += 1;
  }
  rows.put(endOfQueue, 'ends', { first, next });
  return gone;
};
