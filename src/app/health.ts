import { z } from 'zod';
import type { ToldSigning } from '../audit/log/signing.ts';
import { type Millis, seconds } from '../clock.ts';
import type { ConnectedModel } from '../data/upstream/connect.ts';
import { fault } from '../errors.ts';
import { type Route, route } from '../http/route.ts';

/** For each dependency of readiness: undefined if it is available, else a public reason or ''. Must not block. */
export type Checks = Readonly<Record<string, () => string | undefined>>;

export interface Readiness {
  readonly checks: Checks;
  /** Upper bound of how old this gateway's knowledge of keys, projects and policies is. */
  readonly ageMs: () => Millis;
  readonly signing: () => ToldSigning;
}

const shared = { tag: 'Operations', family: 'admin', access: { credential: 'none' } } as const;
const status = z.literal('ok');

/** Infinite before the first read of the log. */
const whole = (ms: Millis): number | null => (Number.isFinite(ms) ? Math.round(ms) : null);

const upstreamHealth = z.object({
  name: z.string(),
  state: z.enum(['closed', 'open', 'half_open', 'paused']),
  until: z.int().nullable().describe('When it may be asked again; null if it may be now'),
});

const auditLog = z
  .object({
    signed: z.boolean().describe('False where it stands still, or the secrets have made none of its keys'),
    passed_over: z
      .array(z.object({ stream: z.string(), revision: z.int() }))
      .describe('Keys in the log for which nobody vouches: somebody has written them there'),
  })
  .describe('Whether the audit log is signed by this gateway');

const health = z.object({ status }).meta({ id: 'Health' });
const readiness = z
  .object({
    status,
    age_ms: z.int().min(0).nullable().optional().describe('Everything that had happened so long ago is known here'),
    upstreams: z
      .record(z.string(), z.array(upstreamHealth))
      .optional()
      .describe('Of the models that have several, by model'),
    audit_log: auditLog.optional(),
  })
  .meta({ id: 'Readiness' });

const auditLogOf = ({ isSigned, passedOver }: ToldSigning): z.infer<typeof auditLog> => ({
  signed: isSigned,
  passed_over: passedOver,
});

/** Public, so models that are dedicated to one organization are left out. */
const healthOf = (models: Iterable<ConnectedModel>): Record<string, z.infer<typeof upstreamHealth>[]> =>
  Object.fromEntries(
    [...models].flatMap(({ model, health }) => {
      if (health === undefined || model.dedicated_to !== undefined) return [];
      // Rounded up, so that a client that waits until then is not too early.
      const list = health().map((each) => ({ ...each, until: each.until && seconds(each.until + 999) }));
      return [[model.id, list]];
    }),
  );

/** `GET /v1/health` and `GET /v1/ready` (contract C.4, K.1, K.3, L.2). */
export const healthRoutes = (
  { checks, ageMs, signing }: Readiness,
  models: () => Iterable<ConnectedModel>,
): Route[] => [
  route({
    ...shared,
    method: 'GET',
    path: '/v1/health',
    operation: 'getHealth',
    summary: 'Whether the process runs',
    whileDraining: true,
    replies: { 200: { description: 'It runs', schema: health } },
    handle: () => ({ status: 200, body: '{"status":"ok"}' }),
  }),
  route({
    ...shared,
    method: 'GET',
    path: '/v1/ready',
    operation: 'getReadiness',
    summary: 'Whether everything that requests need is there',
    query: z.object({
      verbose: z
        .string()
        .max(5)
        .optional()
        .describe(
          'Whatever it says, the answer tells how old this gateway’s knowledge may be, how upstreams do, and whether the audit log is signed',
        ),
    }),
    replies: { 200: { description: 'Ready', schema: readiness } },
    errors: ['dependency_unavailable'],
    handle({ query }) {
      const failed = Object.entries(checks).flatMap(([name, check]) => {
        const why = check();
        return why === undefined ? [] : [why === '' ? name : `${name} (${why})`];
      });
      const age = whole(ageMs());
      if (failed.length === 0) {
        const body = { status: 'ok' };
        if (query.verbose === undefined) return { status: 200, body };
        return {
          status: 200,
          body: { ...body, age_ms: age, upstreams: healthOf(models()), audit_log: auditLogOf(signing()) },
        };
      }
      const known = query.verbose === undefined ? '' : ` What is known here may be ${age ?? 'any number of'} ms old.`;
      const message = `Not available: ${failed.join(', ')}.${known}`;
      throw fault('dependency_unavailable', { message, headers: { 'Retry-After': '1' } });
    },
  }),
];
