import { z } from 'zod';
import { beginOf, keysOfLine, limitsOf, projectKeyRows, spendLimitOf } from '../../../projections/project-keys.ts';
import { spendOf, type Unrecorded } from '../../../projections/spend.ts';
import type { Clock, Millis } from '../../clock.ts';
import type { ProjectPrincipal } from '../../data/access/principal.ts';
import { keyLimitFields } from '../../domain/key/key-limits.ts';
import { limitsFor, type Tier } from '../../domain/organization/tiers.ts';
import { fault } from '../../errors.ts';
import { type Route, route } from '../../http/route.ts';
import type { RowReader } from '../../kernel/rows/rows.ts';
import type { TiersInForce } from '../../limits/tiers/tiers-in-force.ts';
import { shownSpend, spendFields } from '../usage/spend-fields.ts';
import { keyLimitsShown } from './project-key-object.ts';

/** Contract M.1. */
const oldestMs: Millis = 5_000;

const callingKey = z
  .object({
    data: z.object({
      label: z.string().describe('The key, shortened'),
      name: z.string(),
      ...spendFields,
      rate_limit: z
        .object({ requests: z.int(), interval: z.literal('1m') })
        .describe('Requests a minute: its own limit, or that of the tier where this is lower'),
      limits: keyLimitsShown,
    }),
  })
  .meta({ id: 'CallingKey' });

interface CallingKeyOptions {
  readonly models: Pick<RowReader, 'get'>;
  readonly tiers: TiersInForce;
  readonly clock: Clock;
  /** Of what is known of charges. */
  readonly ageMs: () => Millis;
  readonly unrecordedOf: Unrecorded;
}

/** `GET /v1/key`: what the calling key has spent and may spend, with its rotation chain (contract M.7). */
export const keyRoute = ({ models, tiers, clock, ageMs, unrecordedOf }: CallingKeyOptions): Route =>
  route<ProjectPrincipal>({
    method: 'GET',
    path: '/v1/key',
    operation: 'retrieveCallingKey',
    summary: 'Read what the calling key has spent, and its limits',
    tag: 'Inference',
    family: 'models',
    access: { credential: 'project', permission: 'credits:read', limits: 'credits' },
    replies: { 200: { description: 'The spend and the limits of the key', schema: callingKey } },
    errors: ['credit_balance_unavailable'],
    handle({ principal }) {
      const row = models.get(projectKeyRows, `${principal.projectId}:${principal.id}`);
      if (!row || ageMs() > oldestMs) throw fault('credit_balance_unavailable');
      const at = clock.wall();
      const spender = {
        ids: keysOfLine(models, row),
        limit: spendLimitOf(models, row),
        createdAt: beginOf(models, row),
      };
      const spend = spendOf(models, spender, unrecordedOf, at);
      const own = limitsOf(models, row);
      const { rpm } = limitsFor(principal.tier as Tier, 'key', tiers.table);
      const body: z.infer<typeof callingKey> = {
        data: {
          label: row.data.redactedValue,
          name: row.data.name,
          ...shownSpend(spend, at),
          rate_limit: { requests: Math.min(own.requestsPerMinute ?? rpm, rpm), interval: '1m' },
          limits: keyLimitFields(own),
        },
      };
      return { status: 200, body };
    },
  });
