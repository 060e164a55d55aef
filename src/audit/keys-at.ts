import type { ProjectKey } from '../domain/key/project-key.ts';
import type { Project } from '../domain/project/project.ts';
import { type Effective, effectiveIn } from './effective.ts';
import type { Step } from './history.ts';
import { ofEach, type Past } from './past.ts';

export interface KeyAt {
  readonly id: string;
  /** Null if the project admitted the key and the key was never created. */
  readonly key: Step | null;
  readonly effective: Effective;
  /** `reading`: its organization was suspended, and it had permissions that end in `:read` (contract B.1). */
  readonly acts: 'yes' | 'reading' | 'no';
  /** The event after which the deciding state held; null if time alone decided. */
  readonly cause: Step | null;
}

const unmade: Effective = { status: 'absent', because: 'its own state' };

const admitted = (life: readonly Step[], until: Step): string[] =>
  life.flatMap(({ revision, event }) =>
    event.type === 'project.key_issued' && revision <= until.revision ? [String(event.data.key_id)] : [],
  );

const causeOf = (life: readonly Step[], until: Step | undefined): Step | null => {
  const taken = life.filter(({ revision }) => until !== undefined && revision <= until.revision);
  return taken.findLast(({ state }, i) => taken[i - 1]?.state.status !== state.status) ?? null;
};

/** All keys that a project had had at a time in milliseconds, oldest first. `project` is its state then. */
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
