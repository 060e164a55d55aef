import { organizations } from '../../projections/organizations.ts';
import { keyLimitRows, projectKeyOwners, projectKeyRows, projectKeys } from '../../projections/project-keys.ts';
import { projectKeyOf, projectRows, projects } from '../../projections/projects.ts';
import { idOf } from '../../projections/recorded.ts';
import type { Clock } from '../clock.ts';
import { type RateLimits, wholeProject } from '../domain/project/rate-limits.ts';
import type { ReadModels } from '../kernel/projections/projection.ts';
import type { Recorded } from '../kernel/store/store.ts';
import type { OwnLimits, OwnLimitsSource, ProjectLimits } from '../limits/own-limits.ts';
import { keyLimitsChanged, projectLimitsChanged, tierChanged, type Windows } from '../limits/windows.ts';

type Rows = Pick<ReadModels, 'get' | 'absent'>;

type Divide = (limit: number | null) => number | null;

/** One at least, so that no gateway refuses everything. */
const among =
  (gateways: number): Divide =>
  (limit) =>
    limit === null ? null : Math.max(1, Math.floor(limit / gateways));

const ofRow = (
  { requestsPerMinute, tokensPerMinute, requestsPerDay }: RateLimits,
  concurrent: number | null,
  part: Divide,
) => ({
  rpm: part(requestsPerMinute),
  tpm: part(tokensPerMinute),
  rpd: part(requestsPerDay),
  concurrent: part(concurrent),
});

const isAny = (own: OwnLimits): boolean => Object.values(own).some((limit) => limit !== null);

/** The limits of projects, models and keys as the read models have them (contract F.8). */
export class LimitRows implements OwnLimitsSource {
  /** What was asked for while its rows could not be read, by projection: the tier's limits hold until they can. */
  readonly missed = { keys: new Set<string>(), projects: new Set<string>() };
  readonly #models: Rows;
  readonly #part: Divide;

  /** @param gateways that share the limits */
  constructor(models: Rows, gateways = 1) {
    this.#models = models;
    this.#part = among(gateways);
  }

  ofKey(line: string): OwnLimits | null {
    if (this.#models.absent.includes(projectKeys.name)) {
      this.missed.keys.add(line);
      return null;
    }
    const row = this.#models.get(keyLimitRows, line);
    const own = row === undefined ? null : ofRow(row, row.concurrentRequests, this.#part);
    return own !== null && isAny(own) ? own : null;
  }

  ofProject(project: string, organization: string): ProjectLimits | null {
    if (this.#models.absent.includes(projects.name)) {
      this.missed.projects.add(project);
      return null;
    }
    const { [wholeProject]: whole, ...rows } =
      this.#models.get(projectRows, projectKeyOf(organization, project))?.rateLimits ?? {};
    const byModel = Object.entries(rows).map(([model, row]) => [model, ofRow(row, null, this.#part)] as const);
    return { whole: whole === undefined ? null : ofRow(whole, null, this.#part), models: new Map(byModel) };
  }

  /** The first key of the chain of rotations. */
  lineOf(key: string): string {
    const projectId = this.#models.get(projectKeyOwners, key)?.projectId ?? '';
    return this.#models.get(projectKeyRows, `${projectId}:${key}`)?.data.windowsOf ?? key;
  }
}

/**
 * Takes every batch that the read models commit, and tells the windows of changed tiers and limits. Rows can be read a moment before
 * their commit is known: in this time each request has them told, so that what an answer has shown holds. What changes while the rows
 * of a projection cannot be read is told when they can.
 */
export const limitChanges = (models: Rows, rows: LimitRows, windows: Windows, clock: Clock) => {
  const due: Readonly<Record<string, Due>> = {
    'organization.tier_changed': new Due(organizations.name, (id) => tierChanged(windows, id, clock.monotonic())),
    'project.rate_limit_updated': new Due(
      projects.name,
      (id) => projectLimitsChanged(windows, id, clock.monotonic()),
      rows.missed.projects,
    ),
    'project_key.limits_updated': new Due(
      projectKeys.name,
      (id) => keyLimitsChanged(windows, rows.lineOf(id), clock.monotonic()),
      rows.missed.keys,
    ),
  };
  const all = Object.values(due);
  const note = (batch: readonly Recorded[]): void => {
    for (const event of batch) due[event.type]?.ids.add(idOf(event));
  };
  const tell = (): void => {
    for (const each of all) each.tellAll(models);
  };
  return {
    committing(batch: readonly Recorded[]): void {
      note(batch);
      if (batch.some(({ type }) => type in due)) windows.inference.lookAgain = tell;
    },
    committed(batch: readonly Recorded[]): void {
      windows.inference.lookAgain = null;
      note(batch);
      tell();
      for (const each of all) each.told(models);
    },
  };
};

class Due {
  readonly ids: Set<string>;
  readonly #projection: string;
  readonly #tell: (id: string) => void;

  constructor(projection: string, tell: (id: string) => void, ids = new Set<string>()) {
    this.#projection = projection;
    this.#tell = tell;
    this.ids = ids;
  }

  tellAll({ absent }: Rows): void {
    if (this.ids.size === 0 || absent.includes(this.#projection)) return;
    for (const id of this.ids) this.#tell(id);
  }

  told({ absent }: Rows): void {
    if (!absent.includes(this.#projection)) this.ids.clear();
  }
}
