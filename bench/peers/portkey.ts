import { freePort, startServer } from '../machine/server-process.ts';
import type { Stage } from '../stage.ts';
import type { Target } from '../target.ts';
import { cachedPackage } from './package-cache.ts';

const gateway = { name: '@portkey-ai/gateway', version: '1.15.2', entry: 'build/start-server.js' };

/** Header fields that make it forward to an address of ours. */
export const portkeyFields = (upstreamPort: number): readonly string[] => [
  'x-portkey-provider: anthropic',
  `x-portkey-custom-host: http://127.0.0.1:${upstreamPort}/v1`,
  'x-api-key: direct',
  'anthropic-version: 2023-06-01',
];

/** `@portkey-ai/gateway`, a gateway for Node; null with the reason where it cannot be had. */
export const startPortkey = async (stage: Stage): Promise<{ target: Target | null; note: string }> => {
  const found = await cachedPackage(stage, gateway);
  if ('reason' in found) return { target: null, note: found.reason };
  const port = await freePort();
  const server = await startServer({
    name: 'portkey',
    command: [process.execPath, found.file, `--port=${port}`, '--headless'],
    port,
    core: stage.pinning.server,
    env: { NODE_ENV: 'production' },
  });
  stage.onEnd(server.end);
  const { pid, lost } = server;
  const keys = { keys: ['direct'], zipf: 0 };
  return {
    target: { name: 'portkey', pid, address: { host: '127.0.0.1', port }, keys, lost },
    note: `${gateway.name} ${gateway.version} of npm, its postinstall script not run`,
  };
};
