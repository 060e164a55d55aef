/** Coding agents of others that Weir is tried with, at which version, and how each is told of a gateway and of its task. */

export type ModelKind = 'messages' | 'chat' | 'responses';

/** What a run of an agent has: a folder of its own, which is its home too, and its gateway. */
export interface Task {
  /** Where its packages are. */
  readonly installed: string;
  readonly home: string;
  /** Ends in `/v1`. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
  /** What the provider is to have read. */
  readonly file: string;
}

/** A program and its arguments. */
type Command = readonly [string, ...string[]];

export interface Agent {
  readonly name: string;
  readonly api: 'chat completions' | 'responses';
  /** What is published, as the guide says it. */
  readonly version: string;
  /** What is installed: the program for this platform where it is published on its own, since it needs nothing else. */
  readonly packages: Readonly<Record<string, string>>;
  readonly kinds: readonly ModelKind[];
  /** The tool that the provider calls, as it is told to. */
  asks(file: string): string;
  /** Files in its home, by their path. */
  settings?(task: Task): Readonly<Record<string, object | string>>;
  readonly env?: Readonly<Record<string, string>>;
  command(task: Task, prompt: string): Command;
  readonly differs: string;
}

const codex = '0.171.0';
const openCode = '1.18.33';
const qwen = '0.24.4';
const continued = '1.5.47';
const cline = '3.0.65';

export const agents: readonly Agent[] = [
  {
    name: 'Codex',
    api: 'responses',
    version: `\`@openai/codex\` ${codex}`,
    packages: { 'codex-linux-x64': `npm:@openai/codex@${codex}-linux-x64` },
    kinds: ['responses', 'chat'],
    asks: (file) => `exec_command {cmd: cat ${file}}`,
    settings: ({ url, model }) => ({
      '.codex/config.toml': [
        'model_provider = "weir"',
        ...(model === 'responses' ? [] : ['web_search = "disabled"']),
        '[model_providers.weir]',
        'name = "Weir"',
        `base_url = "${url}"`,
        'env_key = "WEIR_KEY"',
        'wire_api = "responses"',
      ].join('\n'),
    }),
    command: ({ installed, model }, prompt) => [
      `${installed}/node_modules/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex`,
      ...['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '-m', model, prompt],
    ],
    differs: 'A translated model needs `web_search = "disabled"`, unless it declares `web_search`.',
  },
  {
    name: 'OpenCode',
    api: 'chat completions',
    version: `\`opencode-ai\` ${openCode}`,
    packages: { 'opencode-linux-x64': openCode },
    kinds: ['messages', 'chat'],
    asks: (file) => `read {filePath: ${file}}`,
    settings: ({ url, model }) => ({
      'opencode.json': {
        autoupdate: false,
        share: 'disabled',
        permission: 'allow',
        provider: {
          weir: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: url, apiKey: '{env:WEIR_KEY}' },
            models: { [model]: { tool_call: true } },
          },
        },
      },
    }),
    env: { OPENCODE_DISABLE_MODELS_FETCH: '1' },
    command: ({ installed, model }, prompt) => [
      `${installed}/node_modules/opencode-linux-x64/bin/opencode`,
      'run',
      '--pure',
      '-m',
      `weir/${model}`,
      prompt,
    ],
    differs: '',
  },
  {
    name: 'Qwen Code',
    api: 'chat completions',
    version: `\`@qwen-code/qwen-code\` ${qwen}`,
    packages: { '@qwen-code/qwen-code': qwen },
    kinds: ['messages', 'chat'],
    asks: (file) => `read_file {file_path: ${file}}`,
    settings: () => ({ '.qwen/settings.json': { privacy: { usageStatisticsEnabled: false } } }),
    command: ({ installed, url, key, model }, prompt) => [
      process.execPath,
      `${installed}/node_modules/@qwen-code/qwen-code/cli-entry.js`,
      ...['--auth-type', 'openai', '--openai-base-url', url, '--openai-api-key', key],
      ...['-m', model, '--yolo', prompt],
    ],
    differs: '',
  },
  {
    name: 'Continue',
    api: 'chat completions',
    version: `\`@continuedev/cli\` ${continued}`,
    packages: { '@continuedev/cli': continued },
    kinds: ['messages', 'chat'],
    asks: (file) => `Read {filepath: ${file}}`,
    settings: ({ url, key, model }) => ({
      // YAML, of which JSON is a part.
      'config.yaml': {
        name: 'weir',
        version: '0.0.1',
        schema: 'v1',
        models: [
          {
            ...{ name: 'weir', provider: 'openai', model, apiBase: url, apiKey: key, useResponsesApi: false },
            ...{ roles: ['chat'], capabilities: ['tool_use'] },
          },
        ],
      },
    }),
    env: { CONTINUE_TELEMETRY_ENABLED: '0', CONTINUE_CLI_ENABLE_TELEMETRY: '0' },
    command: ({ installed, home }, prompt) => [
      process.execPath,
      `${installed}/node_modules/@continuedev/cli/dist/cn.js`,
      ...['--config', `${home}/config.yaml`, '--auto', '-p', prompt],
    ],
    differs: '',
  },
  {
    name: 'Cline',
    api: 'chat completions',
    version: `\`cline\` ${cline}`,
    packages: { '@cline/cli-linux-x64': cline },
    kinds: ['messages', 'chat'],
    asks: (file) => `read_files {path: ${file}}`,
    // As `cline auth` writes it.
    settings: ({ url, key, model }) => {
      const settings = { provider: 'openai-compatible', apiKey: key, model, baseUrl: url };
      const provider = { settings, updatedAt: '2026-11-26T00:00:00.000Z', tokenSource: 'manual' };
      const content = {
        version: 1,
        lastUsedProvider: 'openai-compatible',
        providers: { 'openai-compatible': provider },
      };
      return {
        '.cline/data/settings/providers.json': content,
        '.cline/data/settings/global-settings.json': { telemetryOptOut: true, autoUpdateEnabled: false },
      };
    },
    // Not in a hub, which every user of the machine shares by its port and which outlives the run.
    env: { CLINE_SESSION_BACKEND_MODE: 'local' },
    command: ({ installed, model }, prompt) => [
      `${installed}/node_modules/@cline/cli-linux-x64/bin/cline`,
      ...['-P', 'openai-compatible', '-m', model, prompt],
    ],
    differs: '',
  },
];
