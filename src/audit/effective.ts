import type { Project } from '../domain/project.ts';
import type { EventStore } from '../kernel/store.ts';
import { NoHistory, type StateAt, stateAt } from './history.ts';

/** What something could do at a moment, whatever its own stream says of it. */
export interface Effective {
  readonly status: string;
  /** What decided it. */
  readonly because: 'its own state' | 'its project' | 'its organization' | 'the time';
  /** Of a project: how many of the keys it has admitted could be used. */
  readonly usable_keys?: number;
}

/** Fields that tell where something belongs and how long it lives, of whatever kind. */
interface Belonging {
  readonly organizationId?: string;
  readonly projectId?: string;
  readonly expiresAt?: number | null;
}

const own = 'its own state';

/**
 * The least of what its own state, its project, its organization and the time let it do (contract B.1 to B.4).
 * @param at the moment, in milliseconds, of which `found` is the state
 */
export const effectiveAt = async (store: EventStore, found: StateAt, at: number): Promise<Effective> => {
  const judged = await judge(store, found, at);
  if (!found.id.startsWith('proj_')) return judged;
  let usable_keys = 0;
  for (const id of judged.status === 'active' ? (found.state.data as Project).liveKeys.ids() : []) {
    const key = await ownerAt(store, id, at);
    if (key && (await judge(store, key, at)).status === 'active') usable_keys += 1;
  }
  return { ...judged, usable_keys };
};

const judge = async (store: EventStore, { state }: StateAt, at: number): Promise<Effective> => {
  const { status } = state;
  const { organizationId, projectId, expiresAt } = state.data as Belonging;
  if (status !== 'active' && status !== 'suspended') return { status, because: own };
  const organization = organizationId ? await ownerAt(store, organizationId, at) : undefined;
  const project = projectId ? await ownerAt(store, projectId, at) : undefined;
  if (organization?.state.status === 'closed') return { status: 'revoked', because: 'its organization' };
  if (project?.state.status === 'archived') return { status: 'revoked', because: 'its project' };
  if (expiresAt != null && expiresAt <= at) return { status: 'expired', because: 'the time' };
  if (status === 'suspended') return { status, because: own };
  if (organization?.state.status === 'suspended') return { status: 'suspended', because: 'its organization' };
  return { status, because: own };
};

/** Undefined where it did not exist then, as a key that was admitted and not made. */
const ownerAt = async (store: EventStore, id: string, time: number): Promise<StateAt | undefined> => {
  try {
    return await stateAt(store, id, { time });
  } catch (error) {
    if (error instanceof NoHistory) return undefined;
    throw error;
  }
};
