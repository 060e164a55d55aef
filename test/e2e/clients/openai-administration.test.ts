import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { fromPyPI } from '../../support/kept.ts';
import { wholeGateway } from '../../support/whole-gateway.ts';

/** Rate limits, spend limits and models by the methods that the `openai` package of Python has; Node's are in `test/admin`. */

vi.setConfig({ testTimeout: 400_000 });

const script = fileURLToPath(new URL('scripts/openai_administration.py', import.meta.url));

test('the openai package for Python sets, reads and deletes limits', async ({ skip }) => {
  const kept = await fromPyPI('client-openai', ['openai==3.54.0']);
  if ('missing' in kept) return skip(`openai for Python cannot be had here: ${kept.missing}`);
  const at = await wholeGateway();
  const server = await at.listen();
  try {
    const { adminKey, projectId } = await at.make.tenant();
    const args = [script, `http://127.0.0.1:${server.port}`, adminKey.value, projectId];
    const { stdout } = await promisify(execFile)(join(kept.dir, 'bin', 'python'), args, { timeout: 180_000 });
    const limit = { currency: 'USD', interval: 'month', threshold_amount: 500, enforcement: { status: 'inactive' } };
    const spend = (object: string) => [
      { object, ...limit },
      { object, ...limit },
      { object: `${object}.deleted`, deleted: true },
      'spend_limit_not_found',
    ];
    const models = { object: 'project.model_permissions', mode: 'deny_list', model_ids: ['weir-sim-1'] };
    expect(JSON.parse(stdout)).toEqual({
      organization: spend('organization.spend_limit'),
      project: spend('project.spend_limit'),
      rates: ['rl-*', 'rl-weir-sim-1', 'rl-weir-sim-thinking-1', 7, true],
      models: [models, models, { object: 'project.model_permissions.deleted', deleted: true }],
    });
  } finally {
    await server.drain(0);
    await at.close();
  }
});
