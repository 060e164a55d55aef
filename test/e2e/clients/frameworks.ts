import type { ModelKind } from './agents.ts';
import type { Client, Scenario } from './clients.ts';

/** Frameworks for agents in Python that Weir is tried with: those that can be installed together, in one environment and one process. */

export interface Framework {
  readonly name: string;
  /** The APIs that it speaks, by what models of providers of each are called. */
  readonly apis: readonly ModelKind[];
  readonly packages: Readonly<Record<string, string>>;
  /** What it can not do by an API that it speaks. */
  readonly lacks?: Readonly<Partial<Record<ModelKind, Scenario>>>;
  readonly differs: string;
}

export const frameworkPlays = ['text', 'stream', 'tools', 'structured'] as const;

export const frameworks: readonly Framework[] = [
  {
    name: 'AutoGen',
    apis: ['chat', 'messages'],
    packages: { 'autogen-agentchat': '0.7.5', 'autogen-ext': '0.7.5' },
    lacks: { messages: 'structured' },
    differs: 'It has no structured output by the messages API.',
  },
  {
    name: 'pydantic-ai',
    apis: ['chat', 'responses', 'messages'],
    packages: { 'pydantic-ai-slim': '2.68.0' },
    differs: '',
  },
  { name: 'smolagents', apis: ['chat'], packages: { smolagents: '1.26.0' }, differs: '' },
  { name: 'instructor', apis: ['chat', 'messages'], packages: { instructor: '1.17.0' }, differs: '' },
];

const named = (...names: readonly string[]): readonly Framework[] =>
  frameworks.filter(({ name }) => names.includes(name));

/** Those of a row work with the same versions of the SDKs. */
const together: readonly (readonly [readonly Framework[], sdks: Readonly<Record<string, string>>])[] = [
  [named('pydantic-ai', 'smolagents'), { openai: '3.57.0', anthropic: '2.14.0' }],
  // AutoGen does not say that it needs the last two.
  [named('instructor', 'AutoGen'), { openai: '3.3.0', anthropic: '0.93.0', tiktoken: '0.14.0', aiofiles: '25.1.0' }],
];

export const environments = together.map(([those, sdks]) => ({
  frameworks: those,
  client: {
    name: those.map(({ name }) => name).join(' and '),
    packages: Object.assign({}, ...those.map(({ packages }) => packages), sdks),
    from: 'PyPI',
    script: 'frameworks.py',
    argument: '',
    plays: frameworkPlays,
    differs: '',
  } satisfies Client,
}));
