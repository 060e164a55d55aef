import type { Project } from '../domain/project/project.ts';
import type { StateAt } from './history.ts';
import { ofEach, type Past } from './past.ts';

/** What something could do at a moment, whatever its own stream says of it. */
export interface Effective {
  readonly status: string;
  /** What decided it. */
  readonly because: 'its own state' | 'its project' | 'its client' | 'its organization' | 'the time';
  /** Of a project: how many of the keys it has admitted could be used. */
  readonly usable_keys?: number;
}

/** What something belongs to, by the name and in the state that it had then. */
export interface Owner {
  readonly id: string;
  readonly name: string;
  readonly status: string;
}

/** Fields that tell where something belongs and how long it lives, of whatever kind. */
interface Belonging {
  readonly name?: string;
  readonly organizationId?: string;
  readonly projectId?: string;
  /** Of an access token. */
  readonly clientId?: string;
  readonly expiresAt?: number | null;
}

const own = 'its own state';

/** The name that something had, null where its kind has none. */
export const nameOf = ({ state }: StateAt): string | null => (state.data as Belonging).name ?? null;

/** What `found` belonged to at a moment, the organization first. */
export const ownersAt = async (past: Past, { state }: StateAt, at: number): Promise<readonly Owner[]> => {
  const { organizationId, projectId, clientId } = state.data as Belonging;
  const ids = [organizationId, projectId, clientId].filter((id) => id !== undefined);
  const owners = await ofEach(ids, (id) => past.at(id, at));
  return owners
    .filter((owner) => owner !== undefined)
    .map((owner) => ({ id: owner.id, name: nameOf(owner) ?? '', status: owner.state.status }));
};

/**
 * The least of what its own state, its project, its organization and the time let it do (contract B.1 to B.4).
 * @param at the moment, in milliseconds, of which `found` is the state
 * @param hasSecret whether the secret of a key is there, as far as is known: without it nobody can use the key
 */
export const effectiveIn = async (
  past: Past,
  found: StateAt,
  at: number,
  hasSecret: (key: StateAt) => boolean = () => true,
): Promise<Effective> => {
  const judged = await standingIn(past, found, at);
  if (!found.id.startsWith('proj_')) return judged;
  const ids = judged.status === 'active' ? (found.state.data as Project).liveKeys.ids() : [];
  const usable = await ofEach(ids, async (id) => {
    const key = await past.at(id, at);
    return key !== undefined && hasSecret(key) && (await standingIn(past, key, at)).status === 'active';
  });
  return { ...judged, usable_keys: usable.filter(Boolean).length };
};

/** The same without the count of a project's keys, of which each is read for it. */
export const standingIn = async (past: Past, found: StateAt, at: number): Promise<Effective> => {
  const { status } = found.state;
  const { expiresAt } = found.state.data as Belonging;
  if (status !== 'active' && status !== 'suspended') return { status, because: own };
  const owners = await ownersAt(past, found, at);
  const has = (prefix: string, ended: string): boolean =>
    owners.some((owner) => owner.id.startsWith(prefix) && owner.status === ended);
  if (has('org_', 'closed')) return { status: 'revoked', because: 'its organization' };
  if (has('proj_', 'archived')) return { status: 'revoked', because: 'its project' };
  if (has('oac_', 'deleted')) return { status: 'revoked', because: 'its client' };
  if (expiresAt != null && expiresAt <= at) return { status: 'expired', because: 'the time' };
  if (status === 'suspended') return { status, because: own };
  if (has('org_', 'suspended')) return { status: 'suspended', because: 'its organization' };
  return { status, because: own };
};
