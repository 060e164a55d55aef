import { addUse, minutesOf, noUse, usageDays, usageHours, usagePrefix } from '../../../projections/usage.ts';
import { dayMs, hourMs, type Millis, minuteMs } from '../../clock.ts';
import { accountSeconds, type UsageSum } from '../../domain/usage/usage-events.ts';
import type { ReadModels } from '../../kernel/projections/projection.ts';

export const widths = { '1m': minuteMs, '1h': hourMs, '1d': dayMs } as const;
export type Width = keyof typeof widths;

export const groupings = ['project_id', 'api_key_id', 'model'] as const;
export type Grouping = (typeof groupings)[number];

export interface BucketsWanted {
  readonly organizationId: string;
  /** Milliseconds: a multiple of the width since 1970. */
  readonly from: Millis;
  readonly width: Width;
  readonly count: number;
  /** Limits the result to the retention of accounts (contract M.5). */
  readonly now: Millis;
  readonly groupBy: readonly Grouping[];
  /** Absent: all. */
  readonly projectIds?: readonly string[] | undefined;
  readonly keyIds?: readonly string[] | undefined;
  readonly models?: readonly string[] | undefined;
}

/** The sum of a group in a bucket; fields that are not grouped by are null. */
export interface Group extends Readonly<Record<Grouping, string | null>> {
  readonly sum: UsageSum;
}

export interface Bucket {
  readonly from: Millis;
  readonly to: Millis;
  readonly groups: readonly Group[];
}

export const inputOf = ({ input, cacheCreation, cacheRead }: UsageSum): number => input + cacheCreation + cacheRead;

/** With the names of the API (contract M.6). */
export const tokenCounts = (sum: UsageSum) => ({
  num_model_requests: sum.requests,
  input_tokens: inputOf(sum),
  output_tokens: sum.output,
  input_uncached_tokens: sum.input,
  input_cached_tokens: sum.cacheRead,
  input_cache_write_tokens: sum.cacheCreation,
});

/** Rows read before the event loop gets a turn: half a millisecond. */
const rowsATurn = 250;

export const usageBuckets = async (
  models: Pick<ReadModels, 'range' | 'written'>,
  wanted: BucketsWanted,
): Promise<Bucket[]> => {
  const { from, width, count, now } = wanted;
  const ms = widths[width];
  const found = Array.from({ length: count }, () => new Map<string, Group>());
  const isWanted = wants(wanted);
  const [table, unit] = width === '1d' ? [usageDays, dayMs] : [usageHours, hourMs];
  await models.written([table]);
  const kept = Math.ceil((now - accountSeconds * 1000) / dayMs) * dayMs;
  for (let number = Math.floor(Math.max(from, kept) / unit); number * unit < from + count * ms; number++) {
    const prefix = usagePrefix(wanted.organizationId, number);
    for (let after: string | undefined; ; ) {
      const rows = models.range<(typeof table)['row'] & object>(table, { prefix, after, limit: rowsATurn });
      for (const { row } of rows) {
        if (!isWanted(row)) continue;
        const uses = 'sum' in row ? [[0, row.sum] as const] : minutesOf(row);
        for (const [minute, use] of uses) {
          const bucket = found[Math.floor((number * unit + minute * minuteMs - from) / ms)];
          if (bucket) addTo(bucket, wanted.groupBy, row, use);
        }
      }
      if (rows.length < rowsATurn) break;
      after = rows.at(-1)?.key;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return found.map((groups, index) => ({
    from: from + index * ms,
    to: from + (index + 1) * ms,
    groups: [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group),
  }));
};

interface Whose {
  readonly projectId: string;
  readonly keyId: string;
  readonly model: string;
}

const wants = ({ projectIds, keyIds, models }: BucketsWanted) => {
  const [projects, keys, names] = [projectIds, keyIds, models].map((ids) => ids && new Set(ids));
  return (row: Whose): boolean =>
    (projects?.has(row.projectId) ?? true) && (keys?.has(row.keyId) ?? true) && (names?.has(row.model) ?? true);
};

const addTo = (groups: Map<string, Group>, by: readonly Grouping[], row: Whose, use: UsageSum): void => {
  const of = {
    project_id: by.includes('project_id') ? row.projectId : null,
    api_key_id: by.includes('api_key_id') ? row.keyId : null,
    model: by.includes('model') ? row.model : null,
  };
  // Neither ids nor the names of models contain blanks.
  const key = Object.values(of).join(' ');
  groups.set(key, { ...of, sum: addUse(groups.get(key)?.sum ?? noUse, use) });
};
