import { type Client, type Scenario, versionOf } from './clients.ts';

/** The clients of chat completions and responses that Weir is tried with; the models are simulated, or translated. */

const common: readonly Scenario[] = [
  ...(['text', 'stream', 'tools', 'streamed_tools', 'structured', 'media', 'cancel', 'retry', 'refusals'] as const),
];

export type Api = 'chat' | 'responses';

export interface OpenAIClient extends Client {
  readonly api: Api;
}

/** Once for each API. */
const both = (client: Omit<Client, 'argument' | 'plays'>, more: readonly Scenario[], argument: (api: Api) => string) =>
  (['chat', 'responses'] as const).map(
    (api): OpenAIClient => ({
      ...client,
      api,
      argument: argument(api),
      plays: [...common, ...more, ...(api === 'responses' ? (['thinking'] as const) : [])],
    }),
  );

const openai = (name: string, major: string): OpenAIClient[] =>
  both(
    {
      name: `OpenAI SDK for TypeScript, ${major}`,
      packages: { openai: versionOf(name) },
      from: 'here',
      script: 'openai-sdk.mjs',
      differs: '',
    },
    ['models'],
    (api) => `${name}/${api}`,
  ).map((client) => (client.api === 'chat' ? { ...client, plays: [...client.plays, 'runner'] } : client));

const python = (way: string): OpenAIClient[] =>
  both(
    {
      name: `OpenAI SDK for Python, ${way}`,
      packages: { openai: '3.54.0' },
      from: 'PyPI',
      script: 'openai_client.py',
      differs: '',
    },
    ['models'],
    (api) => `${way}/${api}`,
  );

const aiSdk = { ai: '7.0.173' };

export const openaiClients: readonly OpenAIClient[] = [
  ...openai('openai', '7.x'),
  ...openai('openai-6', '6.x'),
  ...python('sync'),
  ...python('async'),
  ...both(
    {
      name: 'AI SDK 7, `@ai-sdk/openai`',
      packages: { ...aiSdk, '@ai-sdk/openai': '4.0.118' },
      from: 'npm',
      script: 'ai-sdk-openai.mjs',
      differs: 'For responses it has to be told `store: false`, or it sends back ids of items alone.',
    },
    [],
    (api) => api,
  ),
  {
    name: 'AI SDK 7, `@ai-sdk/openai-compatible`',
    api: 'chat',
    packages: { ...aiSdk, '@ai-sdk/openai-compatible': '3.0.92' },
    from: 'npm',
    script: 'ai-sdk-openai.mjs',
    argument: 'compatible',
    plays: common,
    differs: '',
  },
  ...both(
    {
      name: 'LangChain for JavaScript',
      packages: { '@langchain/openai': '1.6.0', '@langchain/core': '1.4.0' },
      from: 'npm',
      script: 'langchain-openai.mjs',
      differs: 'Of a model that it does not know it sends `reasoning` only from `modelKwargs`.',
    },
    [],
    (api) => api,
  ),
  ...both(
    {
      name: 'OpenAI Agents SDK',
      packages: { '@openai/agents': '0.20.0', zod: '4.6.7' },
      from: 'npm',
      script: 'agents.mjs',
      differs: '',
    },
    [],
    (api) => api,
  ),
];

/** Everything of npm in one folder, by the name that the scripts import it by. */
export const openaiPackages: Readonly<Record<string, string>> = Object.fromEntries(
  openaiClients
    .filter(({ from }) => from === 'npm')
    .flatMap(({ packages }) =>
      Object.entries(packages).map(([name, version]) =>
        name === 'ai' ? ['ai-7', `npm:ai@${version}`] : [name, version],
      ),
    ),
);
