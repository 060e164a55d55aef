import { expect, test } from 'vitest';
import { unrouted } from '../../src/http/exchange/admission.ts';
import { type Endpoint, endpoint } from '../../src/http/routing/endpoint.ts';
import { router } from '../../src/http/routing/router.ts';
import { routesToLookAt } from '../support/all-routes.ts';

/** Whoever looks for another API of models is told which there are (contract E.1). */

const match = router<Endpoint>(routesToLookAt().map(endpoint));
const told = (method: string, path: string) => {
  const { code, message, headers } = unrouted(match(path), { method, path });
  return { code, headers, calls: [...message.matchAll(/POST (\/v1\/[a-z_/]*[a-z])/g)].map(([, call]) => call) };
};

test('the routes that are told are those that there are', () => {
  const calls = routesToLookAt()
    .filter(
      ({ tag, method, errors = [] }) =>
        tag === 'Inference' && method === 'POST' && !errors.includes('response_not_stored'),
    )
    .map(({ path }) => path);
  for (const path of [
    '/v1/completions',
    '/v1/images/generations',
    '/v1/audio/speech',
    '/v1/files',
    '/v1/messages/batches',
    '/v1/responses/input_tokens',
    '/v1/responses/compact',
  ]) {
    const { code, calls: named } = told('POST', path);
    expect([path, code]).toEqual([path, 'route_not_found']);
    expect(named.sort()).toEqual([...calls].sort());
  }
  expect(told('POST', '/v1/organization/x').calls).toEqual([]);
});

test('a response may have any other id, and another method on its path is 405', () => {
  for (const id of ['resp_1', 'compact/', 'input_tokens2'])
    expect(told('POST', `/v1/responses/${id}`)).toMatchObject({
      code: 'method_not_allowed',
      headers: { Allow: 'GET, HEAD, DELETE, OPTIONS' },
    });
  expect(told('PUT', '/v1/responses/compact').code).toBe('method_not_allowed');
});
