import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../src/clock.ts';
import { type ConnectedModels, connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';

/** How a model is reached that an upstream of this process has, and how much it takes. */
export interface Reached {
  readonly remote: object;
  readonly entry: object;
}

/** Has an upstream listen, and connects the models that are declared in front of it. */
export const modelsBefore = async (
  upstream: Server,
  declare: (reached: Reached) => readonly object[],
): Promise<ConnectedModels> => {
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const base_url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const remote = { base_url, api_key_env: 'KEY', private_network: true, model: 'theirs' };
  const entry = { context_length: 200_000, max_output_length: 64_000 };
  const models = declare({ remote, entry });
  return connect(loadModels(JSON.stringify({ models }), { KEY: 'k' }), { clock: systemClock });
};
