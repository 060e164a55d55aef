import { join } from 'node:path';
import { organizationRows } from '../../projections/organizations.ts';
import type { Clock } from '../clock.ts';
import { BadConfig, type Config } from '../config/config.ts';
import type { TierTable } from '../domain/organization/tiers.ts';
import type { ReadModels } from '../kernel/projections/projection.ts';
import type { OwnLimitsSource } from '../limits/own-limits.ts';
import { SnapshotFiles } from '../limits/snapshot/snapshot-files.ts';
import { followTiers, readTiers, type TiersInForce, UnusableTiers } from '../limits/tiers/tiers-in-force.ts';
import { upkeep } from '../limits/upkeep.ts';
import { applyTiers, openWindows, storesOf, type Windows } from '../limits/windows.ts';
import { publish } from '../telemetry.ts';
import { LimitRows, limitChanges } from './own-limits.ts';

/** A body of 32 MiB at the slowest accepted pace, an answer of ten minutes, and a slow reader. */
const longestRequestMs = 30 * 60_000;

export interface OpenLimits {
  readonly windows: Windows;
  /** Follows the file; `look` reads it at once. */
  readonly tiers: TiersInForce & { look(): Promise<void> };
  /** Takes every batch that the read models commit: a changed tier or limit holds from the moment on at which it can be read. */
  readonly follower: ReturnType<typeof limitChanges>;
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

const emptyWindows = ({ config, models, logId, tiers }: WindowsOf, own?: OwnLimitsSource): Windows =>
  openWindows({
    owner: logId,
    tierOf: (organization) => models.get(organizationRows, organization)?.tier ?? 0,
    own,
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
  const rows = new LimitRows(models, config.GATEWAYS);
  const windows = emptyWindows({ ...options, tiers: first.table }, rows);
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
  return {
    windows,
    tiers,
    follower: limitChanges(models, rows, windows, clock),
    async close() {
      await tiers.close();
      await ended();
    },
  };
};
