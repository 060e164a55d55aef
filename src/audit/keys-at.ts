import type { ProjectKey } from '../domain/key/project-key.ts';
import type { Project } from '../domain/project/project.ts';
import { type Effective, effectiveIn } from './effective.ts';
import type { Step } from './history.ts';
import { ofEach, type Past } from './past.ts';

/** A key as it stood at a moment, and whether it could act. */
export interface KeyAt {
  readonly id: string;
  /** Null of one that the project had admitted and nobody had made. */
  readonly key: Step | null;
  readonly effective: Effective;
  /** `reading`: its organization was suspended, and it had permissions that end in `:read` (contract B.1). */
  readonly acts: 'yes' | 'reading' | 'no';
  /** What made it so: the event that led to the state that decided, of whatever it belongs to; null where time alone did. */
  readonly cause: Step | null;
}

const unmade: Effective = { status: 'absent', because: 'its own state' };

/** Ids of all keys that a project had admitted by then, in that order. */
const admitted = (life: readonly Step[], until: Step): string[] =>
  life.flatMap(({ revision, event }) =>
    event.type === 'project.key_issued' && revision <= until.revision ? [String(event.data.key_id)] : [],
  );

/** The last of its steps up to a moment at which its state became what it was. */
const causeOf = (life: readonly Step[], until: Step | undefined): Step | null => {
  const taken = life.filter(({ revision }) => until !== undefined && revision <= until.revision);
  return taken.findLast(({ state }, i) => taken[i - 1]?.state.status !== state.status) ?? null;
};

/**
 * Every key that a project had at a moment or before, oldest first, and which of them could act then.
 * @param project the state that it had at that moment, in milliseconds
 */
export const keysAt = async (past: Past, project: Step, at: number): Promise<KeyAt[]> =>
  ofEach(admitted(await past.life(project.id), project), async (id): Promise<KeyAt> => {
    const key = await past.at(id, at);
    if (!key) return { id, key: null, effective: unmade, acts: 'no', cause: null };
    const effective = await effectiveIn(past, key, at);
    const deciding = {
      'its own state': key.id,
      'its project': project.id,
      'its organization': (project.state.data as Project).organizationId,
      'its client': key.id,
      'the time': undefined,
    }[effective.because];
    const cause = deciding === undefined ? null : causeOf(await past.life(deciding), await past.at(deciding, at));
    return { id, key, effective, acts: actsOf(effective, key.state.data as ProjectKey), cause };
  });

const actsOf = ({ status, because }: Effective, { permissions }: ProjectKey): KeyAt['acts'] => {
  if (status === 'active') return 'yes';
  const reads = permissions.some((permission) => permission.endsWith(':read'));
  return status === 'suspended' && because === 'its organization' && reads ? 'reading' : 'no';
};
