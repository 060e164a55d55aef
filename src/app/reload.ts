import { BadConfig, type Config } from '../config/config.ts';
import type { DeclaredModel } from '../data/upstream/models/models.ts';
import type { Price } from '../domain/usage/charge.ts';
import { serial } from '../kernel/mailbox.ts';
import { publish } from '../telemetry.ts';
import { pricesOf } from './models/prices.ts';
import { servedModels } from './models/served-models.ts';

export interface Reloading {
  readonly config: Config;
  readonly env: NodeJS.ProcessEnv;
  /** Reads at once the files that are followed anyway: tiers and certificate. */
  readonly look: () => Promise<unknown>;
  /** Appends prices before any request is charged by them (contract M.3). */
  readonly declare: (prices: readonly Price[]) => Promise<void>;
  readonly use: (models: readonly DeclaredModel[], prices: readonly Price[]) => void;
}

/** Reads the configuration files again. A file that cannot be used is reported and changes nothing. */
export const reloader = ({ config, env, look, declare, use }: Reloading): (() => Promise<void>) => {
  const inTurn = serial();
  const models = async (): Promise<void> => {
    if (config.MODELS_FILE === undefined) return;
    try {
      const declared = await servedModels(config, env);
      const prices = pricesOf(declared);
      await declare(prices);
      use(declared, prices);
      publish('models.reloaded', { models: declared.map(({ model }) => model.id) });
    } catch (error) {
      publish('models.refused', { fault: error instanceof BadConfig ? error.message : String(error) });
    }
  };
  return () =>
    inTurn(async () => {
      await Promise.all([look(), models()]);
    });
};
