import type { Scope } from '../../src/domain/organization/tiers.ts';
import { inspect } from '../../src/limits/inspect.ts';
import { type Asked, type LimitedService, message } from './limited-service.ts';

const scopes: readonly Scope[] = ['key', 'project', 'organization'];
/** Who calls by default. */
const ids = { key: 'key_1', project: 'proj_1', organization: 'org_1' };

/** What tests ask of the service that each of them has. */
export const callsOf = (service: () => LimitedService) => {
  const used = (scope: Scope, id: string, metric: string): number | undefined => {
    const { windows, clock } = service();
    const found = inspect(windows.inference, scope, id, clock.monotonic());
    return found?.windows.find((window) => window.metric === metric)?.used;
  };
  return {
    models: (token: string): Promise<Asked> => service().ask(token, 'GET', '/v1/models'),
    write: (token: string, max_tokens: number, more: object = {}): Promise<Asked> =>
      service().ask(token, 'POST', '/v1/messages', { body: message(max_tokens, more) }),
    used,
    /** Requests in flight of key, project and organization. */
    inFlight: (): (number | undefined)[] => scopes.map((scope) => used(scope, ids[scope], 'concurrent_requests')),
    /** What is used of a metric by those who call by default. */
    usedAt: (scope: Scope, metric: string): number | undefined => used(scope, ids[scope], metric),
  };
};

/** Limit, rest and reset as the headers of an answer tell them. */
export const quota = ({ headers }: Asked, subject = 'requests'): (string | null)[] =>
  ['limit', 'remaining', 'reset'].map((what) => headers.get(`x-ratelimit-${what}-${subject}`));
