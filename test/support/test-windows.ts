import { readFileSync } from 'node:fs';
import { type Tier, tiers } from '../../src/domain/organization/tiers.ts';
import { parseTiers } from '../../src/limits/tiers/tiers-file.ts';
import { openWindows, type WindowsOptions } from '../../src/limits/windows.ts';

/** Windows of the spec's tiers, with an administration that nothing limits. */
export const testWindows = (tier: Tier = 0, options: Partial<WindowsOptions> = {}) =>
  openWindows({
    tierOf: () => tier,
    tiers,
    administration: {
      credentialRpm: 60_000,
      credentialConcurrent: 1_000,
      organizationRpm: 60_000,
      organizationConcurrent: 1_000,
    },
    ...options,
  });

/** A tiers file whose limits nobody meets. */
export const wideTiers = new URL('./wide-tiers.json', import.meta.url);

/** Windows whose limits nobody meets. */
export const wideWindows = () => testWindows(0, { tiers: parseTiers(readFileSync(wideTiers, 'utf8')) });
