import { systemClock } from '../../src/clock.ts';
import type { ProjectPrincipal } from '../../src/data/access/principal.ts';
import { connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import { refusal } from '../../src/errors.ts';
import { serve } from '../../src/http/listen/server.ts';
import type { Route } from '../../src/http/route.ts';
import { newId } from '../../src/ids.ts';
import { unlimitedGate } from '../support/unlimited.ts';
import { principal } from './call.ts';

/** The one key that is let in. */
export const key = 'gwp_test';

/** Long enough to be left in the middle of an answer. */
const slow = {
  id: 'slow',
  context_length: 100_000,
  max_output_length: 64_000,
  upstream: { kind: 'simulated', output_tokens: 20_000, token_ms: 10 },
};

/** Routes on a port, for official SDKs, over the built-in models and some more. */
export const sdkStage = async (
  routesOf: (models: ReturnType<typeof connect>) => readonly Route[],
  more: readonly object[] = [slow],
) => {
  const declared = [...loadModels(null, {}), ...loadModels(JSON.stringify({ models: more }), {})];
  const models = connect(declared, { clock: systemClock });
  const gate = unlimitedGate<ProjectPrincipal>((head) => {
    const sent = head.header('authorization')?.slice('Bearer '.length) ?? head.header('x-api-key');
    return sent === key ? principal() : refusal('invalid_api_key');
  });
  const server = await serve<ProjectPrincipal>({
    routes: [...routesOf(models)],
    gate,
    host: '127.0.0.1',
    port: 0,
    requestId: () => newId('req', systemClock),
    clock: systemClock,
  });
  return {
    server,
    baseURL: `http://127.0.0.1:${server.port}`,
    async close() {
      await server.drain(1000);
      await models.close();
    },
  };
};
