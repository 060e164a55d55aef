import { readFileSync } from 'node:fs';

/** The clients of others that Weir is tried with, at which version, and what each of them does there. */

export const scenarios = {
  text: 'text',
  stream: 'streamed text',
  tools: 'tools',
  streamed_tools: 'streamed tools',
  runner: 'the tool runner',
  streamed_runner: 'the streamed tool runner',
  threads: 'threads',
  thinking: 'thinking',
  structured: 'structured output',
  media: 'images and PDFs',
  cache: 'prompt caching',
  citations: 'citations',
  search: 'web search',
  messages_api: 'its own form of the messages API',
  count: 'counting tokens',
  models: 'reading a model',
  cancel: 'leaving a stream',
  retry: 'waiting out an overload',
  refusals: 'refusals by their status',
} as const;

export type Scenario = keyof typeof scenarios;

export interface Client {
  readonly name: string;
  /** What is installed, at which version. */
  readonly packages: Readonly<Record<string, string>>;
  /** Where it comes from: the project's own dependencies, npm, or PyPI; each set of PyPI in an environment of its own. */
  readonly from: 'here' | 'npm' | 'PyPI';
  /** Of `scripts/`, and what it is told after the gateway, the key and the two models. */
  readonly script: string;
  readonly argument: string;
  readonly plays: readonly Scenario[];
  /** What whoever uses it has to know. */
  readonly differs: string;
}

/** Those that the project itself has, by the name that it imports them by. */
const { devDependencies: own } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
export const versionOf = (name: string): string => own[name].split('@').at(-1);

const common: readonly Scenario[] = [
  ...(['text', 'stream', 'tools', 'streamed_tools', 'thinking', 'structured', 'media', 'cache', 'citations'] as const),
  ...(['search', 'cancel', 'retry', 'refusals'] as const),
];
const anthropics: readonly Scenario[] = [...common, 'runner', 'count', 'models'];
const threads = 'A stored thread is refused, and the SDK sends the whole history instead where it is told to.';

const aiSdk = (major: string, ai: string, provider: string, differs: string): Client => ({
  name: `AI SDK ${major}`,
  packages: { ai, '@ai-sdk/anthropic': provider },
  from: 'npm',
  script: 'ai-sdk.mjs',
  argument: major,
  plays: common,
  differs,
});

export const clients: readonly Client[] = [
  {
    name: 'Anthropic SDK for TypeScript, 1.x',
    packages: { '@anthropic-ai/sdk': versionOf('@anthropic-ai/sdk') },
    from: 'here',
    script: 'anthropic-sdk.mjs',
    argument: '@anthropic-ai/sdk',
    plays: [...anthropics, 'streamed_runner', 'threads'],
    differs: threads,
  },
  {
    name: 'Anthropic SDK for TypeScript, 0.x',
    packages: { '@anthropic-ai/sdk': versionOf('anthropic-sdk-0') },
    from: 'here',
    script: 'anthropic-sdk.mjs',
    argument: 'anthropic-sdk-0',
    plays: [...anthropics, 'streamed_runner'],
    differs: '',
  },
  ...['sync', 'async'].map(
    (way): Client => ({
      name: `Anthropic SDK for Python, ${way}`,
      packages: { anthropic: '2.12.0' },
      from: 'PyPI',
      script: 'anthropic_client.py',
      argument: way,
      plays: anthropics,
      differs: '',
    }),
  ),
  aiSdk('7', '7.0.173', '4.0.105', ''),
  aiSdk('6', '6.0.326', '3.0.140', ''),
  aiSdk('5', '5.0.277', '2.0.112', ''),
  {
    name: 'LangChain for JavaScript',
    packages: { '@langchain/anthropic': '1.5.11', '@langchain/core': '1.4.0' },
    from: 'npm',
    script: 'langchain.mjs',
    argument: '',
    plays: common,
    differs: 'It drops the citations of an answer of one text block, unless it streams.',
  },
  {
    name: 'LangChain for Python',
    packages: { 'langchain-anthropic': '1.7.0' },
    from: 'PyPI',
    script: 'langchain_client.py',
    argument: '',
    plays: [...common, 'count'],
    differs: '',
  },
  {
    name: 'LiteLLM as a client',
    packages: { litellm: '1.105.0', tenacity: '9.2.1' },
    from: 'PyPI',
    script: 'litellm_client.py',
    argument: '',
    plays: [...common.filter((scenario) => scenario !== 'citations'), 'messages_api'],
    differs: 'Of a model that it does not know it sends `thinking` only with `allowed_openai_params`.',
  },
];

/** What a strict model refuses, with the word that the refusal names it by. */
export const refusedByStrict: Readonly<Partial<Record<Scenario, string>>> = {
  citations: 'Citations are not supported',
  search: 'web_search_20250305',
};

/** Everything of npm in one folder, by the name that the scripts import it by. */
export const npmPackages: Readonly<Record<string, string>> = Object.fromEntries(
  clients
    .filter(({ from }) => from === 'npm')
    .flatMap(({ packages, argument }) =>
      Object.entries(packages).map(([name, version]) =>
        argument === ''
          ? [name, version]
          : [name === 'ai' ? `ai-${argument}` : `ai-${argument}-anthropic`, `npm:${name}@${version}`],
      ),
    ),
);
