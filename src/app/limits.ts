import { join } from 'node:path';
import { organizationRows, organizations } from '../../projections/organizations.ts';
import { idOf } from '../../projections/recorded.ts';
import type { Clock } from '../clock.ts';
import { BadConfig, type Config } from '../config/config.ts';
import type { TierTable } from '../domain/organization/tiers.ts';
import type { ReadModels } from '../kernel/projections/projection.ts';
import type { Recorded } from '../kernel/store/store.ts';
import { SnapshotFiles } from '../limits/snapshot/snapshot-files.ts';
import { followTiers, readTiers, type TiersInForce, UnusableTiers } from '../limits/tiers/tiers-in-force.ts';
import { upkeep } from '../limits/upkeep.ts';
import { applyTiers, openWindows, storesOf, tierChanged, type Windows } from '../limits/windows.ts';
import { publish } from '../telemetry.ts';

/** A body of 32 MiB at the slowest accepted pace, an answer of ten minutes, and a slow reader. */
const longestRequestMs = 30 * 60_000;

export interface OpenLimits {
  readonly windows: Windows;
  /** Follows the file; `look` reads it at once. */
  readonly tiers: TiersInForce & { look(): Promise<void> };
  /** Takes every batch that the read models commit: a changed tier holds from the next request on. */
  committed(batch: readonly Recorded[]): void;
  close(): Promise<void>;
}

/** @throws BadConfig */
export const tiersOf = (config: Config) =>
  readTiers(config.TIERS_FILE).catch((error: Error) => {
    throw error instanceof UnusableTiers ? new BadConfig([`TIERS_FILE: ${error.message}`], error) : error;
  });

export const limitsDir = (config: Config): string => join(config.DATA_DIR, 'limits');

interface WindowsOf {
  readonly config: Config;
  readonly models: Pick<ReadModels, 'get'>;
  /** Windows of another log are foreign. */
  readonly logId: string;
  readonly tiers: TierTable;
}

const emptyWindows = ({ config, models, logId, tiers }: WindowsOf): Windows =>
  openWindows({
    owner: logId,
    tierOf: (organization) => models.get(organizationRows, organization)?.tier ?? 0,
    tiers,
    administration: {
      credentialRpm: config.ADMIN_CREDENTIAL_RPM,
      credentialConcurrent: config.ADMIN_CREDENTIAL_CONCURRENT,
      organizationRpm: config.ADMIN_ORGANIZATION_RPM,
      organizationConcurrent: config.ADMIN_ORGANIZATION_CONCURRENT,
    },
    report: (trouble) => publish('limits.trouble', trouble),
  });

/** What is saved of the windows, by family; null if nothing is. Changes no file. */
export const savedWindows = async (
  options: WindowsOf & { readonly clock: Clock },
): Promise<Readonly<Record<string, { readonly records: number; readonly refused: number } | null>>> => {
  const { config, clock } = options;
  const found: Record<string, { records: number; refused: number } | null> = {};
  for (const [family, store] of Object.entries(storesOf(emptyWindows(options)))) {
    const restored = await SnapshotFiles.look({ dir: limitsDir(config), family, store, clock });
    found[family] = restored && { records: Array.from(store.all()).length, refused: restored.refused.length };
  }
  return found;
};

/** Opens the limits with what the last run has saved in DATA_DIR. */
export const openLimits = async (options: {
  readonly config: Config;
  readonly models: ReadModels;
  readonly logId: string;
  readonly clock: Clock;
  readonly tiers: Awaited<ReturnType<typeof tiersOf>>;
}): Promise<OpenLimits> => {
  const { config, models, clock, tiers: first } = options;
  const windows = emptyWindows({ ...options, tiers: first.table });
  // A log without an organization has never admitted a request.
  const fresh = models.range(organizationRows, { prefix: '', limit: 1 }).length === 0;
  const kept = [];
  for (const [family, store] of Object.entries(storesOf(windows))) {
    const dir = limitsDir(config);
    const { files, restored } = await SnapshotFiles.open({ dir, family, store, clock, fresh });
    kept.push({ store, files });
    if (!restored) continue;
    const refused = restored.refused.map(
      ({ buffer, offset, reason }) => `${reason} in file ${buffer + 1} at ${offset}`,
    );
    publish('limits.restored', { family, records: restored.records, refused, halfFull: restored.halfFull });
  }
  const unsaved = (error: unknown) => publish('limits.unsaved', { error });
  const ended = upkeep({ kept, clock, longestRequestMs, unsaved });
  const file = config.TIERS_FILE;
  const tiers = followTiers(first, {
    file,
    apply: (table) => applyTiers(windows, table),
    reloaded: (outcome) => {
      if ('fault' in outcome) publish('tiers.refused', { file: file ?? '', fault: outcome.fault });
      else publish('tiers.reloaded', { file: file ?? '' });
    },
  });
  /** Organizations whose tier has changed while their rows cannot be read. */
  const due = new Set<string>();
  return {
    windows,
    tiers,
    committed(batch) {
      for (const event of batch) if (event.type === 'organization.tier_changed') due.add(idOf(event));
      if (models.absent.includes(organizations.name)) return;
      for (const organization of due) tierChanged(windows, organization, clock.monotonic());
      due.clear();
    },
    async close() {
      await tiers.close();
      await ended();
    },
  };
};
