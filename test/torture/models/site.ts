import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { existingEventLog } from '../../../src/app/log/event-log.ts';
import { readConfig } from '../../../src/config/config.ts';
import type { Settlement } from '../../../src/domain/usage/usage-events.ts';
import { settlementsBetween } from '../../../src/usage/settlements.ts';
import { type Gateway, startGateway, withoutLimits } from '../gateway.ts';
import type { Scene } from '../scene.ts';

/** A gateway whose models are served by providers of the torture. */
export interface Site extends Gateway {
  readonly port: number;
  readonly key: string;
  readonly dataDir: string;
}

const common = { context_length: 200_000, max_output_length: 64_000 };

/** An upstream at that address, on this machine. */
export const at = (base_url: string, more: object = {}) => ({
  kind: 'anthropic',
  base_url,
  api_key_env: 'TORTURE_KEY',
  private_network: true,
  ...more,
});

/** @param models what each model has beside its size: `upstream` or `upstreams` */
export const startSite = async (
  scene: Scene,
  models: Readonly<Record<string, object>>,
  env: Readonly<Record<string, string>> = {},
  dir: string = scene.dir(),
): Promise<Site> => {
  const file = join(dir, 'models.json');
  const declared = Object.entries(models).map(([id, more]) => ({ id, ...common, ...more }));
  writeFileSync(file, JSON.stringify({ models: declared }));
  const data = join(dir, 'data');
  const told = { ...withoutLimits, MODELS_FILE: file, TORTURE_KEY: 'torture', LOG_LEVEL: 'info', ...env };
  const gateway = await startGateway(scene, data, told);
  const { project_api_key: key } = JSON.parse(readFileSync(join(data, 'first-run.json'), 'utf8')) as {
    readonly project_api_key: string;
  };
  return { ...gateway, key, dataDir: data, port: Number(new URL(gateway.baseUrl).port) };
};

/** A request by its number. */
export const bodyOf = (n: number, isStream: boolean, model: string): string =>
  JSON.stringify({
    model,
    max_tokens: 64,
    ...(isStream && { stream: true }),
    messages: [{ role: 'user', content: `request ${n} ` }],
  });

/** Ends the gateway as an operator does, and reads what it has settled today and yesterday. */
export const accountsOf = async ({ stop, dataDir }: Site): Promise<Settlement[]> => {
  await stop();
  const log = await existingEventLog(readConfig({ DATA_DIR: dataDir }));
  try {
    const found: Settlement[] = [];
    for await (const each of settlementsBetween(log.store, Date.now() - 24 * 3600 * 1000, Date.now())) found.push(each);
    return found;
  } finally {
    await log.close();
  }
};
