import fc from 'fast-check';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { document, resolved } from './document.ts';

/** One rule for every name, and the document says it. */

vi.setConfig({ testTimeout: 60_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let mine: Awaited<ReturnType<typeof at.make.tenant>>;
beforeAll(async () => {
  at = await wholeGateway();
  mine = await at.make.tenant();
});
afterAll(() => at.close());

const base = '/v1/organization';
/** Where a name can be given: path of the document, path of the request, the rest of the body. */
const places = () => {
  const { projectId, projectKey } = mine;
  const keys = `${base}/projects/${projectId}/api_keys`;
  return [
    [`${base}/projects`, `${base}/projects`, {}],
    [`${base}/projects/{project_id}`, `${base}/projects/${projectId}`, {}],
    [`${base}/projects/{project_id}/api_keys`, keys, {}],
    [`${base}/projects/{project_id}/api_keys/{api_key_id}`, `${keys}/${projectKey.id}`, {}],
    [`${base}/admin_api_keys`, `${base}/admin_api_keys`, { permissions: ['projects:read'] }],
    [`${base}/policies`, `${base}/policies`, { rule: '7' }],
  ] as const;
};
let asked = 0;
const give = (path: string, body: object) => {
  asked += 1;
  // The rule of a policy is wrong, so that none is made: it is looked at after the name.
  return at.call('POST', path, {
    body,
    headers: { ...bearer(mine.adminKey.value), 'idempotency-key': `a-name-${asked}-asked` },
  });
};

const odd = ['\u0000', '\n', '\t', ' ', '\u0085', '\u007f', '\u001c', '\ufeff', '\u00a0', '\u2028', '😀', 'é', 'x'];
const name = fc.oneof(
  fc.string({ unit: fc.constantFrom(...odd), maxLength: 6 }),
  fc.string({ unit: 'binary', maxLength: 10 }),
  fc.tuple(fc.constantFrom(...odd), fc.integer({ min: 118, max: 122 })).map(([unit, count]) => unit.repeat(count)),
  fc.constantFrom(` ${'😀'.repeat(120)}\n`, ` ${'😀'.repeat(121)}\n`),
);

test('wherever a name is given, what the pattern matches is taken and all else is refused', async () => {
  const patterns = places().map(([documented]) => {
    const content = document.paths[documented]?.post?.requestBody?.content['application/json'];
    const { name } = resolved(content?.schema ?? {}).properties ?? {};
    return (name?.anyOf?.[0] ?? name)?.pattern ?? 'none';
  });
  expect(new Set(patterns).size).toBe(1);
  const pattern = new RegExp(patterns[0]!, 'u');
  await fc.assert(
    fc.asyncProperty(name, async (value) => {
      for (const [, path, rest] of places()) {
        const { status, body } = await give(path, { name: value, ...rest });
        const isTaken = status < 300 || body.error.param !== 'name';
        expect(isTaken, `${path}: ${status} ${JSON.stringify(body)} for ${JSON.stringify(value)}`).toBe(
          pattern.test(value),
        );
        if (status < 300) expect(body.name).toBe(value.trim());
      }
    }),
    { numRuns: 60 },
  );
});
