import { freePort, startServer } from '../machine/server-process.ts';
import type { Stage } from '../stage.ts';
import type { Target } from '../target.ts';
import { cachedCommand } from './package-cache.ts';
import { fileFor } from './seed.ts';

const proxy = { name: 'litellm[proxy]', version: '1.106.2', entry: 'litellm' };
/** It does not start with a short one. */
const masterKey = 'sk-bench-0123456789abcdef0123456789abcdef';
/** It imports for some seconds. */
const startMs = 120_000;

const configOf = (model: string, upstreamPort: number): string =>
  JSON.stringify({
    model_list: [
      {
        model_name: model,
        litellm_params: {
          model: `anthropic/${model}`,
          api_base: `http://127.0.0.1:${upstreamPort}`,
          api_key: 'bench',
        },
      },
    ],
  });

/** LiteLLM's proxy with one worker and no database, a gateway for Python; null with the reason where it cannot be had. */
export const startLiteLlm = async (
  stage: Stage,
  model: string,
  upstreamPort: number,
): Promise<{ target: Target | null; note: string }> => {
  const found = await cachedCommand(stage, proxy);
  if ('reason' in found) return { target: null, note: found.reason };
  const port = await freePort();
  const config = fileFor(stage, 'litellm.json', configOf(model, upstreamPort));
  const server = await startServer({
    name: 'litellm',
    command: [found.file, '--config', config, '--host', '127.0.0.1', '--port', `${port}`, '--telemetry', 'False'],
    port,
    core: stage.pinning.server,
    startMs,
    cwd: stage.dir,
    env: { LITELLM_MASTER_KEY: masterKey, LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_LOG: 'ERROR' },
  });
  stage.onEnd(server.end);
  const { pid, lost } = server;
  const keys = { keys: [masterKey], zipf: 0 };
  return {
    target: { name: 'litellm', pid, address: { host: '127.0.0.1', port }, keys, lost },
    note: `LiteLLM's proxy ${proxy.version} of PyPI, one worker, without a database`,
  };
};
