import type { ProjectKey } from '../domain/key/project-key.ts';
import type { Project } from '../domain/project/project.ts';
import type { StateAt, Step } from './history.ts';
import { ofEach, type Past } from './past.ts';

/** What something could do at a moment, its owners and the time included. */
export interface Effective {
  readonly status: string;
  readonly because: 'its own state' | 'its project' | 'its client' | 'its organization' | 'the time';
  /** Of a project: how many of its keys worked. */
  readonly usable_keys?: number;
}

export interface Owner {
  readonly id: string;
  readonly name: string;
  readonly status: string;
}

interface Belonging {
  readonly name?: string;
  readonly organizationId?: string;
  readonly projectId?: string;
  readonly clientId?: string;
  readonly expiresAt?: number | null;
}

const own = 'its own state';

/** Null if its kind has none. */
export const nameOf = ({ state }: StateAt): string | null => (state.data as Belonging).name ?? null;

export const ownersAt = async (past: Past, { state }: StateAt, at: number): Promise<readonly Owner[]> => {
  const { organizationId, projectId, clientId } = state.data as Belonging;
  const ids = [organizationId, projectId, clientId].filter((id) => id !== undefined);
  const owners = await ofEach(ids, (id) => past.at(id, at));
  return owners
    .filter((owner) => owner !== undefined)
    .map((owner) => ({ id: owner.id, name: nameOf(owner) ?? '', status: owner.state.status }));
};

/**
 * The least that its own state, project, organization and the time allow (contract B.1 to B.4).
 * @param at the moment of `found`, in milliseconds
 * @param hasSecret whether the pepper of a key is there, as far as is known
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

/** As above, without the count of keys, which reads each of them. */
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

/** A key with the limits that were in force for it: those of the newest key of its chain of rotations (contract F.8, M.7). */
export const withLimitsInForce = async (past: Past, found: Step, at: number): Promise<Step> => {
  const successorOf = ({ state }: StateAt) => (state.data as Partial<ProjectKey>).rotatedTo ?? null;
  let newest = found;
  for (let id = successorOf(found); id !== null; id = successorOf(newest)) {
    const next = await past.at(id, at);
    if (next === undefined) break;
    newest = next;
  }
  if (newest === found) return found;
  const { limits, spendLimit } = newest.state.data as ProjectKey;
  return { ...found, state: { ...found.state, data: { ...(found.state.data as object), limits, spendLimit } } };
};
