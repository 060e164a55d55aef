// Lane: rest: a torture of the gateway as a process
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { weirHere } from './here.ts';
import { eventually, freshDir, type Server, startServer } from './server.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

const ask = async ({ baseUrl, first }: Server): Promise<number> => {
  const response = await fetch(`${baseUrl}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${first.project_api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'paid', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  await response.arrayBuffer();
  return response.status;
};

test('a gateway that is killed at once after it has spent a credit does not spend it again when it starts', async () => {
  const modelsFile = join(dirname(freshDir()), 'models.json');
  const model = {
    id: 'paid',
    context_length: 200_000,
    max_output_length: 64_000,
    pricing: { completion: '0.001' },
    access: { required_checks: ['credits'] },
    upstream: { kind: 'simulated', output_tokens: 10, output_tokens_variation: 0 },
  };
  writeFileSync(modelsFile, JSON.stringify({ models: [model] }));
  const env = { MODELS_FILE: modelsFile, PROJECTION_WAIT_MS: '30000' };
  let server = await startServer({ env });
  for (let round = 1; round <= 3; round++) {
    const { organization_id: organization } = server.first;
    const grant = ['billing', 'grant', organization, '--amount', '0.01', '--reference', `round ${round}`];
    expect((await weirHere(grant, { ...server.env, ...env })).code).toBe(0);
    const { dataDir } = server;
    await eventually(async () => ((await ask(server)) === 200 ? true : undefined));
    await server.kill();
    server = await startServer({ dataDir, env });
    expect(await ask(server)).toBe(402);
  }
  await server.stop();
});
