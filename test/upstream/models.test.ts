import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { connect } from '../../src/data/upstream/connect.ts';
import { loadModels, longestAnswerMs } from '../../src/data/upstream/models/models.ts';
import { assemble, options, request } from './requests.ts';

const minimal = { id: 'm', context_length: 1000, max_output_length: 100, upstream: { kind: 'simulated' } };
const remote = { kind: 'anthropic', base_url: 'https://models.example/api/', api_key_env: 'MODEL_KEY' };
const env = { MODEL_KEY: 'sk-canary-4471' };

const load = (...models: readonly unknown[]) => loadModels(JSON.stringify({ models }), env);
const faultsOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  return '';
};
/** The faults of one entry with these fields changed, without their common head. */
const faults = (over: object): string =>
  faultsOf(() => load({ ...minimal, ...over }))
    .split('\n')
    .slice(1)
    .join('\n');

describe('loadModels', () => {
  test('a minimal entry gets every field of the resource', () => {
    expect(load(minimal)[0]).toEqual({
      model: {
        id: 'm',
        aliases: [],
        name: 'm',
        display_name: 'm',
        object: 'model',
        created: 0,
        root: 'm',
        parent: '',
        access: { required_checks: [] },
        input_modalities: ['text'],
        output_modalities: ['text'],
        pricing: { prompt: '0', completion: '0', image: '0', request: '0', input_cache_read: '0' },
        supported_sampling_parameters: ['temperature', 'top_p', 'top_k', 'stop', 'max_tokens'],
        supported_features: ['tools', 'structured_outputs', 'reasoning'],
        is_ready: true,
        quantization: 'unknown',
        context_length: 1000,
        max_output_length: 100,
        sampling_limits: {},
        sampling_limits_revision: '',
        prefill: true,
        min_thinking_tokens: 1024,
        passthrough: true,
      },
      upstreams: [
        {
          name: '0',
          weight: 1,
          priority: 0,
          upstreamModel: 'm',
          upstream: {
            kind: 'simulated',
            first_token_ms: 0,
            token_ms: 0,
            output_tokens: 64,
            output_tokens_variation: 0.5,
            thinking_tokens: 32,
            tokens_per_delta: 1,
          },
        },
      ],
    });
  });

  test('the label is the end of the id, and the upstream has its own name for it', () => {
    const [declared] = load({ ...minimal, id: 'vendor/big-1', upstream: { ...remote, model: 'big' } });
    expect(declared).toMatchObject({
      model: { display_name: 'big-1', root: 'vendor/big-1' },
      upstreams: [
        { upstreamModel: 'big', upstream: { base_url: 'https://models.example/api', total_timeout_ms: 600_000 } },
      ],
    });
  });

  test('without a file there are two simulated models', () => {
    const ids = loadModels(null, {}).map(({ model, upstreams: [one] }) => [model.id, one!.upstream.kind]);
    expect(ids).toEqual([
      ['weir-sim-1', 'simulated'],
      ['weir-sim-thinking-1', 'simulated'],
    ]);
  });

  test('the revision of sampling limits depends on what they say, not on their order', () => {
    const revision = (sampling_limits: object) =>
      load({ ...minimal, sampling_limits })[0]!.model.sampling_limits_revision;
    const limits = { temperature: { min: 0, max: 1.5 }, stop: { max_items: 4 } };
    // printf '{"stop":{"max_items":4},"temperature":{"max":1.5,"min":0}}' | sha256sum
    expect(revision(limits)).toBe('d2fa5d09d036da10');
    expect(revision({ stop: { max_items: 4 }, temperature: { max: 1.5, min: 0 } })).toBe(revision(limits));
    expect(revision({ ...limits, stop: { max_items: 5 } })).not.toBe(revision(limits));
  });

  test('reports every fault at once, each with its path', () => {
    const message = faultsOf(() =>
      load(
        { ...minimal, pricing: { prompt: '1e-6' }, colour: 'red' },
        {
          ...minimal,
          id: 'other',
          max_output_length: 2000,
          upstream: { ...remote, base_url: 'ftp://x', api_key_env: 'ABSENT' },
        },
        { ...minimal, quantization: 'int3' },
        'no model',
      ),
    );
    expect(message.split('\n')[0]).toBe('The models file has 8 faults:');
    for (const line of [
      'models[0].pricing.prompt: not a plain decimal',
      'models[0]: Unrecognized key: "colour"',
      'models[1].upstream.base_url: only http and https are allowed',
      'models[1].upstream.api_key_env: the environment variable ABSENT is not set',
      'models[1].max_output_length: greater than context_length',
      'models[2].quantization: Invalid option',
      'models[2].id: the id of models[0] too',
      'models[3]: Invalid input: expected object',
    ]) {
      expect(message).toContain(`\n  ${line}`);
    }
  });

  test.each<[string, object, string]>([
    [
      'an unknown key of the upstream',
      { upstream: { kind: 'simulated', speed: 9 } },
      'models[0].upstream: Unrecognized key: "speed"',
    ],
    ['an unknown kind', { upstream: { kind: 'magic' } }, 'models[0].upstream.kind'],
    ['a declared revision', { sampling_limits_revision: 'x' }, 'Unrecognized key: "sampling_limits_revision"'],
    ['an unknown parameter', { supported_sampling_parameters: ['heat'] }, 'models[0].supported_sampling_parameters[0]'],
    ['an unknown limit', { sampling_limits: { heat: {} } }, 'models[0].sampling_limits'],
    [
      'limits the wrong way round',
      { sampling_limits: { top_p: { min: 1, max: 0 } } },
      'models[0].sampling_limits.top_p: min is above max',
    ],
    [
      'a default outside',
      { sampling_limits: { top_p: { max: 1, default: 2 } } },
      'models[0].sampling_limits.top_p.default: outside',
    ],
    ['an unknown feature', { supported_features: ['tools', 'magic'] }, 'models[0].supported_features[1]'],
    ['a feature twice', { supported_features: ['tools', 'tools'] }, 'models[0].supported_features: has a value twice'],
    ['an unknown modality', { input_modalities: ['smell'] }, 'models[0].input_modalities[0]'],
    ['an unknown check', { access: { required_checks: ['tier:6'] } }, 'models[0].access.required_checks[0]'],
    ['a computed field', { access: { available: true } }, 'models[0].access: Unrecognized key: "available"'],
    ['a bad id', { id: 'a b' }, 'models[0].id: not a model id'],
    ['no context', { context_length: 0 }, 'models[0].context_length'],
    ['thirteen decimals', { pricing: { image: '0.0000000000001' } }, 'models[0].pricing.image: not a plain decimal'],
    ['a sign', { pricing: { image: '-1' } }, 'models[0].pricing.image'],
    ['a number for a price', { pricing: { image: 1 } }, 'models[0].pricing.image'],
    ['an unknown price', { pricing: { video: '1' } }, 'models[0].pricing: Unrecognized key: "video"'],
    ['a sign of a further price', { pricing: { web_search: '-1' } }, 'models[0].pricing.web_search: not a plain'],
    [
      'a price of a tier',
      { pricing: { service_tiers: { flex: { prompt: '1e-6' } } } },
      'models[0].pricing.service_tiers.flex.prompt: not a plain decimal',
    ],
    [
      'an unknown price of a tier',
      { pricing: { service_tiers: { flex: { tokens: '1' } } } },
      'models[0].pricing.service_tiers.flex: Unrecognized key: "tokens"',
    ],
    [
      'a tier within a tier',
      { pricing: { service_tiers: { flex: { service_tiers: {} } } } },
      'models[0].pricing.service_tiers.flex: Unrecognized key: "service_tiers"',
    ],
    [
      'a name that no tier has',
      { pricing: { service_tiers: { Flex: {} } } },
      'models[0].pricing.service_tiers.Flex: not the name of a service tier',
    ],
    [
      'the usual tier',
      { pricing: { service_tiers: { default: {} } } },
      'models[0].pricing.service_tiers.default: is how requests are served usually',
    ],
  ])('refuses %s', (_, over, fault) => {
    expect(faults(over)).toContain(fault);
  });

  test.each<[string, string]>([
    ['https://user:hunter2@models.example', 'must not hold credentials'],
    ['https://models.example/?key=hunter2', 'neither a query nor a fragment'],
    ['https://models.example/v1/', 'leave out the /v1'],
    ['file:///etc/passwd', 'only http and https'],
    ['models.example', 'not an absolute URL'],
    ['http://models.example', 'plain http'],
    ['https://localhost:8000', 'private network'],
    ['https://127.0.0.1', 'private network'],
    ['https://2130706433', 'private network'],
    ['https://0177.0.0.1', 'private network'],
    ['https://0x7f.1', 'private network'],
    ['https://10.1.2.3', 'private network'],
    ['https://169.254.169.254', 'private network'],
    ['https://[::1]', 'private network'],
    ['https://[::ffff:169.254.169.254]', 'private network'],
    ['https://[fd00::1]', 'private network'],
  ])('refuses the base URL %s', (base_url, fault) => {
    const found = faults({ upstream: { ...remote, base_url } });
    expect(found).toContain('models[0].upstream.base_url: ');
    expect(found).toContain(fault);
    expect(found).not.toContain('hunter2');
  });

  test('takes a URL of a private network that is declared as such', () => {
    const upstream = { ...remote, base_url: 'http://127.0.0.1:8000', private_network: true };
    expect(load({ ...minimal, upstream })[0]!.upstreams[0]!.upstream).toMatchObject({
      base_url: 'http://127.0.0.1:8000',
    });
  });

  test('text that is not JSON is reported by its place, without its content', () => {
    expect(faultsOf(() => loadModels('{\n  "models": sk-hunter2', {}))).toBe(
      'The models file is not valid JSON (line 2, column 13).',
    );
    expect(faultsOf(() => loadModels('{', {}))).toMatch(/^The models file is not valid JSON \(line 1, column 2\)\.$/);
    expect(faultsOf(() => loadModels('[]', {}))).toContain('(root): ');
    expect(faultsOf(() => loadModels('{"models":[]}', {}))).toContain('models: ');
  });

  test('the key shows up nowhere, and a wrong one is not repeated', () => {
    const [declared] = load({ ...minimal, upstream: remote });
    const { upstream } = declared!.upstreams[0]!;
    if (upstream.kind !== 'anthropic') throw new Error('another kind');
    const { apiKey } = upstream;
    expect(apiKey.reveal()).toBe(env.MODEL_KEY);
    const connected = connect([declared!], { clock: systemClock });
    for (const shown of [
      inspect(declared, { depth: 9, showHidden: true }),
      inspect(connected, { depth: 9, showHidden: true }),
      JSON.stringify(declared),
      `${apiKey}`,
      inspect(new Error('x', { cause: declared }), { depth: 9 }),
    ]) {
      expect(shown).not.toContain('canary');
    }
    const broken = JSON.stringify({ models: [{ ...minimal, upstream: remote }] });
    expect(faultsOf(() => loadModels(broken, { MODEL_KEY: 'sk canary\n' }))).toMatch(
      /api_key_env: the environment variable MODEL_KEY holds characters/,
    );
    expect(faultsOf(() => loadModels(broken, { MODEL_KEY: 'sk canary\n' }))).not.toContain('canary');
    const unset = (api_key_env: string) =>
      faultsOf(() =>
        loadModels(JSON.stringify({ models: [{ ...minimal, upstream: { ...remote, api_key_env } }] }), {}),
      );
    for (const name of ['OPENAI_API_KEY', 'KEY', 'GPT4_KEY_2'])
      expect(unset(name)).toContain(`the environment variable ${name} is not set`);
    expect(unset('openaiKey')).toContain('the environment variable of that name is not set');
    // Keys of usual forms, which a name may not be taken for.
    for (const key of ['AKIAIOSFODNN7EXAMPLE', 'sk_live_CANARY', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'])
      expect(unset(key)).not.toContain(key);
    const pasted = JSON.stringify({ models: [{ ...minimal, upstream: { ...remote, api_key_env: 'sk_canary' } }] });
    expect(faultsOf(() => loadModels(pasted, {}))).not.toContain('canary');
  });
});

describe('several upstreams', () => {
  const upstreams = (...list: readonly object[]) => ({ ...minimal, upstream: undefined, upstreams: list });

  test('have names, weights, priorities and names of the model', () => {
    const [declared] = load(upstreams({ ...remote, model: 'a' }, { ...remote, name: 'b', weight: 9, priority: 2 }));
    expect(declared!.upstreams).toMatchObject([
      { name: '0', weight: 1, priority: 0, upstreamModel: 'a' },
      { name: 'b', weight: 9, priority: 2, upstreamModel: 'm' },
    ]);
    expect(declared!.upstreams[1]!.upstream).not.toHaveProperty('weight');
  });

  test.each<[string, object, string[]]>([
    ['none at all', { upstream: undefined }, ['models[0].upstream: a model has "upstream", or "upstreams"']],
    ['both forms', { upstreams: [remote] }, ['models[0].upstreams: not beside "upstream"']],
    ['an empty list', upstreams(), ['models[0].upstreams: Too small']],
    ['seventeen', upstreams(...Array(17).fill(remote)), ['models[0].upstreams: Too big']],
    ['a weight of 0', upstreams({ ...remote, weight: 0 }), ['models[0].upstreams[0].weight: Too small']],
    ['a weight of 1001', upstreams({ ...remote, weight: 1001 }), ['models[0].upstreams[0].weight: Too big']],
    ['half a weight', upstreams({ ...remote, weight: 1.5 }), ['models[0].upstreams[0].weight: Invalid input']],
    ['a priority below 0', upstreams({ ...remote, priority: -1 }), ['models[0].upstreams[0].priority: Too small']],
    ['a name like an index', upstreams({ ...remote, name: '1' }), ['models[0].upstreams[0].name: not a name']],
    [
      'a name twice',
      upstreams(remote, { ...remote, name: 'a' }, { ...remote, name: 'a' }),
      ['models[0].upstreams[2].name: the name of upstreams[1] too'],
    ],
    [
      'faults of each',
      upstreams({ ...remote, api_key_env: 'ABSENT' }, remote, { ...remote, base_url: 'http://models.example' }),
      [
        'models[0].upstreams[0].api_key_env: the environment variable ABSENT is not set',
        'models[0].upstreams[2].base_url: plain http would show the key',
      ],
    ],
  ])('refuse %s', (_, over, expected) => {
    const found = faults(over).split('\n');
    expect(found).toEqual(expected.map((fault) => expect.stringContaining(fault)));
  });
});

test('the longest answer takes as long as all upstreams of its model after each other', () => {
  const size = { context_length: 8_000, max_output_length: 4_000 };
  const at = (total_timeout_ms?: number) => ({
    ...{ kind: 'anthropic', base_url: 'https://a.example', api_key_env: 'KEY' },
    ...(total_timeout_ms !== undefined && { total_timeout_ms }),
  });
  const models = [
    { id: 'simulated', ...size, upstream: { kind: 'simulated' } },
    { id: 'long', ...size, upstream: at(900_000) },
    { id: 'two', ...size, upstreams: [at(), at(700_000)] },
  ];
  const loaded = loadModels(JSON.stringify({ models }), { KEY: 'k' });
  expect(longestAnswerMs(loaded)).toBe(600_000 + 700_000);
  expect(longestAnswerMs(loaded.slice(0, 2))).toBe(900_000);
  expect(longestAnswerMs(loaded.slice(0, 1))).toBe(0);
  expect(longestAnswerMs([])).toBe(0);
});

describe('an upstream of chat completions or responses', () => {
  const chat = { kind: 'openai', base_url: 'https://models.example/api' };

  test('needs no key, and has what others have', () => {
    const [declared] = load({ ...minimal, upstream: { ...chat, model: 'a' } });
    expect(declared!.upstreams).toMatchObject([
      {
        upstreamModel: 'a',
        upstream: { kind: 'openai', apis: ['chat'], max_tokens_name: 'max_tokens', connections: 1024, ca: null },
      },
    ]);
    const keyed = load({ ...minimal, upstream: { ...chat, api_key_env: 'MODEL_KEY' } })[0]!.upstreams[0]!.upstream;
    if (keyed.kind !== 'openai') throw new Error('another kind');
    expect(keyed.apiKey.reveal()).toBe(env.MODEL_KEY);
    expect(inspect(keyed, { depth: 9, showHidden: true })).not.toContain('canary');
  });

  test('speaks chat completions, responses, or both', () => {
    for (const apis of [['chat'], ['responses'], ['chat', 'responses']])
      expect(load({ ...minimal, upstream: { ...chat, apis } })[0]!.upstreams).toMatchObject([{ upstream: { apis } }]);
  });

  test('does not go on where an assistant message ends, unless that is declared', () => {
    const prefillOf = (over: object) => load({ ...minimal, ...over })[0]!.model.prefill;
    expect(prefillOf({})).toBe(true);
    expect(prefillOf({ upstream: remote })).toBe(true);
    expect(prefillOf({ upstream: chat })).toBe(false);
    expect(prefillOf({ upstream: undefined, upstreams: [remote, chat] })).toBe(false);
    expect(prefillOf({ upstream: chat, prefill: true })).toBe(true);
  });

  test.each<[string, object, string]>([
    ['a variable that is not set', { api_key_env: 'ABSENT' }, 'upstream.api_key_env: the environment variable'],
    ['a URL with /v1', { base_url: 'https://models.example/v1' }, 'upstream.base_url: leave out the /v1'],
    ['plain http', { base_url: 'http://models.example' }, 'upstream.base_url: plain http'],
    ['no URL', { base_url: undefined }, 'upstream.base_url'],
    ['no API', { apis: [] }, 'upstream.apis: has to have "chat", "responses" or both, or "embeddings" alone'],
    [
      'embeddings and chat',
      { apis: ['chat', 'embeddings'] },
      'upstream.apis: has to have "chat", "responses" or both, or "embeddings" alone',
    ],
    ['embeddings and responses', { apis: ['responses', 'embeddings'] }, 'upstream.apis: has to have "chat"'],
    ['another API', { apis: ['chat', 'images'] }, 'upstream.apis[1]: Invalid option'],
    ['another name', { max_tokens_name: 'tokens' }, 'upstream.max_tokens_name: Invalid option'],
    ['a field of no kind', { top_k: 3 }, 'upstream: Unrecognized key: "top_k"'],
  ])('refuses %s', (_, over, fault) => {
    expect(faults({ upstream: { ...chat, ...over } })).toContain(`models[0].${fault}`);
  });
});

test('a model is for embeddings by all of its upstreams, and these pass', () => {
  const chat = { kind: 'openai', base_url: 'https://models.example' };
  const embeddings = { ...chat, apis: ['embeddings'] };
  const of = (...upstreams: readonly object[]) => ({ upstream: undefined, upstreams });
  expect(faults(of(embeddings, chat))).toContain('models[0].upstreams: all of them are for embeddings, or none is');
  expect(faults({ upstream: embeddings, passthrough: false })).toContain(
    'models[0].passthrough: requests for embeddings',
  );
  for (const fields of [of(embeddings, embeddings), { upstream: embeddings }])
    expect(load({ ...minimal, ...fields })).toHaveLength(1);
});

describe('connect', () => {
  test('an API passes where all upstreams of a model speak it', async () => {
    const chat = { kind: 'openai', base_url: 'https://models.example' };
    const of = (...upstreams: readonly object[]) => ({ ...minimal, upstream: undefined, upstreams });
    const passing = (...upstreams: readonly object[]) => {
      const models = connect(load(of(...upstreams)), { clock: systemClock });
      return Object.keys(models.get('m')!.upstream.passing ?? {});
    };
    expect(passing(remote, remote)).toEqual(['messages']);
    expect(passing(remote, chat)).toEqual([]);
    const responses = { ...chat, apis: ['responses'] };
    expect(passing(responses, { ...chat, apis: ['chat', 'responses'] })).toEqual(['responses']);
    expect(passing(responses, chat)).toEqual([]);
    expect(passing(remote, { kind: 'simulated' })).toEqual([]);
  });

  test('gives each model its upstream, by the id that callers send', async () => {
    const models = connect(load(minimal, { ...minimal, id: 'n', upstream: { kind: 'simulated', model: 'inner' } }), {
      clock: systemClock,
    });
    expect([...models.keys()]).toEqual(['m', 'n']);
    const { upstream, upstreamModel, model } = models.get('n')!;
    expect([upstreamModel, model.id]).toEqual(['inner', 'n']);
    const asked = request({ model: upstreamModel });
    expect(await assemble(upstream.stream(asked, options()))).toEqual(await upstream.answer(asked, options()));
    await models.close();
  });

  test('several upstreams are one, which has the health of each', async () => {
    const several = { ...minimal, id: 'n', upstream: undefined, upstreams: [remote, { ...remote, name: 'two' }] };
    const models = connect(load(minimal, several), { clock: systemClock });
    expect(models.get('m')!.health).toBeUndefined();
    expect(models.get('n')!.health?.()).toEqual([
      { name: '0', state: 'closed', until: null },
      { name: 'two', state: 'closed', until: null },
    ]);
    expect(models.get('n')!.upstream).toHaveProperty('passing');
    await models.close();
  });
});
