import { z } from 'zod';
import { flag, many, text, wholeNumber } from '../../http/request/query.ts';
import type { Route } from '../../http/route.ts';
import { adminRoute } from '../admin-route.ts';
import type { Administration } from '../command.ts';
import { type Group, type Grouping, groupings, inputOf, tokenCounts } from './usage-buckets.ts';
import { bucketPage, countOf, pageOfBuckets, spanQuery } from './usage-page.ts';

const id = text(1, 200);
const filters = { project_ids: many(id).optional(), api_key_ids: many(id).optional() };

/** For the SDK: these have one value each, since there are no users, batches or further tiers. */
const ofOthers = ['user_id', 'batch', 'service_tier', 'api_source'] as const;

const usageQuery = z.object({
  ...spanQuery,
  ...filters,
  bucket_width: z.enum(['1m', '1h', '1d']).default('1d'),
  limit: wholeNumber(1, 1440).optional(),
  group_by: many(z.enum([...groupings, ...ofOthers])).optional(),
  models: many(id).optional(),
  user_ids: many(id).optional(),
  batch: flag().optional(),
});

const usageResult = z
  .object({
    object: z.literal('organization.usage.completions.result'),
    num_model_requests: z.int(),
    input_tokens: z.int(),
    output_tokens: z.int(),
    input_uncached_tokens: z.int(),
    input_cached_tokens: z.int(),
    input_cache_write_tokens: z.int(),
    project_id: z.string().nullable(),
    api_key_id: z.string().nullable(),
    model: z.string().nullable(),
    user_id: z.null(),
    batch: z.boolean().nullable(),
    service_tier: z.null(),
    api_source: z.literal('unlabeled').nullable(),
  })
  .meta({ id: 'UsageResult' });

const isGrouping = (name: string): name is Grouping => (groupings as readonly string[]).includes(name);

const usageOf =
  (groupBy: readonly string[]) =>
  ({ sum, ...of }: Group): z.infer<typeof usageResult> => ({
    object: 'organization.usage.completions.result',
    ...tokenCounts(sum),
    ...of,
    user_id: null,
    batch: groupBy.includes('batch') ? false : null,
    service_tier: null,
    api_source: groupBy.includes('api_source') ? 'unlabeled' : null,
  });

const costsQuery = z.object({
  ...spanQuery,
  ...filters,
  bucket_width: z.enum(['1d']).default('1d'),
  limit: wholeNumber(1, 180).default(7).meta({ defaultOnTheWire: 7 }),
  group_by: many(z.enum(['project_id', 'user_id', 'line_item', 'api_key_id', 'api_source'])).optional(),
  line_items: many(id).optional(),
});

const costsResult = z
  .object({
    object: z.literal('organization.costs.result'),
    amount: z.object({ value: z.number(), currency: z.literal('usd') }),
    line_item: z.string().nullable(),
    project_id: z.string().nullable(),
    api_key_id: z.string().nullable(),
    user_id: z.null(),
    api_source: z.literal('unlabeled').nullable(),
    quantity: z.int().nullable(),
    quantity_unit: z.literal('tokens').nullable(),
  })
  .meta({ id: 'CostsResult' });

/** Unspecified: what a line item is. Here it is a model. */
const costsOf =
  (groupBy: readonly string[]) =>
  ({ sum, model, ...of }: Group): z.infer<typeof costsResult> => ({
    object: 'organization.costs.result',
    amount: { value: sum.microDollars / 1_000_000, currency: 'usd' },
    line_item: model,
    ...of,
    user_id: null,
    api_source: groupBy.includes('api_source') ? 'unlabeled' : null,
    quantity: model === null ? null : inputOf(sum) + sum.output,
    quantity_unit: model === null ? null : 'tokens',
  });

/** In the form of `client.admin.organization.usage.completions` and `.costs` of the `openai` package (contract M.6). */
export const usageRoutes = ({ models, clock }: Administration): Route[] => {
  const usage = (path: string, operation: string): Route =>
    adminRoute('usage:read', {
      method: 'GET',
      path,
      operation,
      summary: 'What the organization has used: requests and tokens, in buckets of time',
      query: usageQuery,
      replies: { 200: { description: 'A page of buckets', schema: pageOfBuckets('UsagePage', usageResult) } },
      errors: ['invalid_cursor'],
      handle: ({ principal, query }) => {
        const { group_by: groupBy = [], bucket_width: width } = query;
        const isOfNobody = query.user_ids !== undefined || query.batch === true;
        const wanted = {
          organizationId: principal.organizationId,
          width,
          count: countOf(query.limit, width),
          groupBy: groupBy.filter(isGrouping),
          projectIds: isOfNobody ? [] : query.project_ids,
          keyIds: query.api_key_ids,
          models: query.models,
        };
        return bucketPage(models, clock, query, wanted, usageOf(groupBy));
      },
    });

  return [
    usage('/v1/organization/usage', 'listUsage'),
    usage('/v1/organization/usage/completions', 'listCompletionsUsage'),
    adminRoute('usage:read', {
      method: 'GET',
      path: '/v1/organization/costs',
      operation: 'listCosts',
      summary: 'What that cost, in US dollars, in buckets of a day',
      query: costsQuery,
      replies: { 200: { description: 'A page of buckets', schema: pageOfBuckets('CostsPage', costsResult) } },
      errors: ['invalid_cursor'],
      handle: ({ principal, query }) => {
        const { group_by: groupBy = [] } = query;
        const wanted = {
          organizationId: principal.organizationId,
          width: query.bucket_width,
          count: query.limit,
          groupBy: groupBy.flatMap((name) => (name === 'line_item' ? 'model' : isGrouping(name) ? name : [])),
          projectIds: query.project_ids,
          keyIds: query.api_key_ids,
          models: query.line_items,
        };
        return bucketPage(models, clock, query, wanted, costsOf(groupBy));
      },
    }),
  ];
};
