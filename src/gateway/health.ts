import { z } from 'zod';
import { fault } from '../errors.ts';
import { type Route, route } from '../http/route.ts';

/** What readiness depends on: each answers whether it is there, and never throws. One look at a time is shared by all who ask. */
export type Probes = Readonly<Record<string, () => Promise<boolean>>>;

const shared = { tag: 'Operations', family: 'admin', access: { credential: 'none' } } as const;
/** Anybody may ask, as often as they like: whoever comes while it is being looked at hears the same answer. */
const sharing = <T>(look: () => Promise<T>): (() => Promise<T>) => {
  let looking: Promise<T> | undefined;
  return () => {
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  };
};

const ok = { status: 200, body: '{"status":"ok"}' } as const;

/** `GET /v1/health` and `GET /v1/ready` (decisions C.3). */
export const healthRoutes = (probes: Probes): Route[] => {
  const names = Object.keys(probes);
  const missing = sharing(async () => {
    const there = await Promise.all(names.map((name) => probes[name]!()));
    return names.filter((_, i) => !there[i]);
  });
  return [
    route({
      ...shared,
      method: 'GET',
      path: '/v1/health',
      operation: 'getHealth',
      summary: 'Whether the process runs',
      replies: { 200: { description: 'It runs', schema: z.object({ status: z.literal('ok') }) } },
      handle: () => ok,
    }),
    route({
      ...shared,
      method: 'GET',
      path: '/v1/ready',
      operation: 'getReadiness',
      summary: 'Whether everything that requests need is there',
      replies: { 200: { description: 'Ready', schema: z.object({ status: z.literal('ok') }) } },
      errors: ['dependency_unavailable'],
      async handle() {
        const failed = await missing();
        if (failed.length === 0) return ok;
        const message = `Not available: ${failed.join(', ')}.`;
        throw fault('dependency_unavailable', { message, headers: { 'Retry-After': '1' } });
      },
    }),
  ];
};
