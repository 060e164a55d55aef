import { expect, test } from 'vitest';
import { unrouted } from '../../src/http/admission.ts';
import { routesToLookAt } from '../support/all-routes.ts';

/** Whoever looks for another API of models is told which there are (contract E.1). */

test('the routes that are told are those that there are', () => {
  const calls = routesToLookAt()
    .filter(
      ({ tag, method, errors = [] }) =>
        tag === 'Inference' && method === 'POST' && !errors.includes('response_not_stored'),
    )
    .map(({ path }) => path);
  for (const path of [
    '/v1/embeddings',
    '/v1/completions',
    '/v1/images/generations',
    '/v1/audio/speech',
    '/v1/files',
    '/v1/messages/batches',
  ]) {
    const { code, message } = unrouted(undefined, path);
    expect(code).toBe('route_not_found');
    expect([...message.matchAll(/POST (\/v1\/[a-z_/]*[a-z])/g)].map(([, told]) => told).sort()).toEqual(
      [...calls].sort(),
    );
  }
  expect(unrouted(undefined, '/v1/organization/x').message).not.toContain('POST');
});
