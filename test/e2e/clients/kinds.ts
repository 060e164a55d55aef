import { writeFileSync } from 'node:fs';
import { freshDir, startServer } from '../server.ts';
import type { ModelKind } from './agents.ts';
import { startOpenAIProvider } from './openai-provider.ts';
import { startProvider } from './provider.ts';

/** A request that a provider has got. */
interface Received {
  readonly body: { readonly model: string; readonly stream?: boolean; readonly tools?: readonly unknown[] };
}

/** A running gateway with a model of each kind, by that name, and what their providers have received so far. */
export const stageOfKinds = async () => {
  const [anthropicLike, openaiLike] = await Promise.all([startProvider(), startOpenAIProvider()]);
  const remote = { api_key_env: 'PROVIDER_KEY', private_network: true };
  const upstreams: Readonly<Record<ModelKind, object>> = {
    messages: { kind: 'anthropic', base_url: anthropicLike.url, ...remote },
    chat: { kind: 'openai', base_url: openaiLike.url, apis: ['chat'], ...remote },
    responses: { kind: 'openai', base_url: openaiLike.url, apis: ['chat', 'responses'], ...remote },
  };
  const size = { context_length: 200_000, max_output_length: 64_000 };
  const supported_features = ['tools', 'structured_outputs', 'reasoning'];
  const models = Object.entries(upstreams).map(([id, upstream]) => ({ id, ...size, supported_features, upstream }));
  const file = `${freshDir()}.models.json`;
  writeFileSync(file, JSON.stringify({ models }));
  const server = await startServer({ env: { MODELS_FILE: file, PROVIDER_KEY: 'sk-canary-3b1e' } });
  const taken: Received[] = [];
  return {
    server,
    received: (): readonly Received[] => {
      taken.push(...(anthropicLike.take() as Received[]), ...openaiLike.take());
      return taken;
    },
    async close() {
      await server.stop();
      await Promise.all([anthropicLike.close(), openaiLike.close()]);
    },
  };
};
