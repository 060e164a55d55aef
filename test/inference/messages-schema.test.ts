import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { messagesBody } from '../../src/data/api/messages/messages-schema.ts';
import { invalid } from '../../src/http/validation/validate.ts';
import { body, tool } from './body.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 30_000 });

const compiled = z.compile(messagesBody);

/** `ok`, or the code and param of the refusal. The compiled schema, which serves, and the plain one must agree. */
const judge = (value: unknown): string => {
  const results = [messagesBody, compiled].map((schema) => {
    const result = schema.safeParse(value);
    if (result.success) return 'ok';
    const { code, param, details } = invalid('messages', 'body', value, result.error);
    return `${code} ${param} ${details[0]?.type}`;
  });
  expect(results[1]).toBe(results[0]);
  return results[0]!;
};
const ofField = (name: string) => (value: unknown) => judge(body({ [name]: value }));
const chars = (length: number) => 'x'.repeat(length);
const many = <T>(length: number, item: (index: number) => T) => Array.from({ length }, (_, index) => item(index));

describe('required fields', () => {
  test.each(['model', 'max_tokens', 'messages'])('%s must be there and not null', (name) => {
    const { [name]: _, ...rest } = body();
    expect(judge(rest)).toBe(`validation_failed ${name} missing`);
    expect(judge(body({ [name]: null }))).toMatch(new RegExp(`^validation_failed ${name} `));
  });

  test('the smallest body is enough', () => expect(judge(body())).toBe('ok'));
});

describe('bounds', () => {
  test.each([
    ['model', '', 'validation_failed model string_too_short'],
    ['model', 'm', 'ok'],
    ['max_tokens', 0, 'validation_failed max_tokens greater_than_equal'],
    ['max_tokens', 1, 'ok'],
    ['max_tokens', 999_990, 'ok'],
    ['max_tokens', 999_991, 'validation_failed max_tokens less_than_equal'],
    ['max_tokens', 1.5, 'validation_failed max_tokens int_type'],
    ['max_tokens', '1', 'validation_failed max_tokens int_type'],
    ['temperature', -0.01, 'validation_failed temperature greater_than_equal'],
    ['temperature', 0, 'ok'],
    ['temperature', 2, 'ok'],
    ['temperature', 2.01, 'validation_failed temperature less_than_equal'],
    ['top_p', -0.01, 'validation_failed top_p greater_than_equal'],
    ['top_p', 0, 'ok'],
    ['top_p', 1, 'ok'],
    ['top_p', 1.01, 'validation_failed top_p less_than_equal'],
    ['top_k', -1, 'validation_failed top_k greater_than_equal'],
    ['top_k', 0, 'ok'],
    ['top_k', 1.5, 'ok'],
    ['stream', true, 'ok'],
    ['stream', 'true', 'validation_failed stream bool_type'],
    ['inference_geo', 'e', 'unsupported_parameter inference_geo value_error'],
    ['inference_geo', null, 'ok'],
    ['thread', {}, 'thread_unsupported_request thread value_error'],
    ['thread', null, 'ok'],
    ['user_profile_id', 'x', 'unsupported_parameter user_profile_id value_error'],
    ['user_profile_id', null, 'ok'],
    ['cache_control', { type: 'ephemeral' }, 'ok'],
    ['diagnostics', {}, 'ok'],
    ['service_tier', 'auto', 'ok'],
    ['service_tier', 'standard_only', 'ok'],
    ['service_tier', 'priority', 'validation_failed service_tier literal_error'],
    ['speed', 'standard', 'ok'],
    ['system', '', 'ok'],
    ['system', [], 'ok'],
    ['system', [{ type: 'text', text: 'x' }], 'ok'],
    ['system', [{ type: 'text', text: '' }], 'validation_failed system.0.text string_too_short'],
    ['system', [{ type: 'image' }], 'unsupported_content_block system.0.type value_error'],
    ['system', 5, 'validation_failed system list_type'],
  ])('%s = %j → %s', (name, value, expected) => {
    const shown = ofField(name)(value);
    expect(shown).toBe(expected);
  });

  test.each<[string, object, string]>([
    ['content', { messages: [{ role: 'user', content: 5 }] }, 'messages.0.content: Must be a string or an array.'],
    ['content', { messages: [{ role: 'user', content: {} }] }, 'messages.0.content: Must be a string or an array.'],
    ['system', { system: true }, 'system: Must be a string or an array.'],
    [
      'keep',
      { context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 5 }] } },
      'context_management.edits.0.keep: Must be a string or an object.',
    ],
  ])('%s says all that it may be', (_, fields, expected) => {
    const value = body(fields);
    for (const schema of [messagesBody, compiled])
      expect(invalid('messages', 'body', value, schema.safeParse(value).error!).message).toBe(expected);
  });

  test.each([
    ['15 stop sequences', 'stop_sequences', many(15, String), 'ok'],
    ['16 stop sequences', 'stop_sequences', many(16, String), 'ok'],
    ['17 stop sequences', 'stop_sequences', many(17, String), 'validation_failed stop_sequences too_long'],
    ['one of 256 characters', 'stop_sequences', [chars(256)], 'ok'],
    ['one of 257 characters', 'stop_sequences', [chars(257)], 'validation_failed stop_sequences.0 string_too_long'],
    ['an empty one', 'stop_sequences', [''], 'validation_failed stop_sequences.0 string_pattern_mismatch'],
    ['a blank one', 'stop_sequences', [' \n'], 'validation_failed stop_sequences.0 string_pattern_mismatch'],
    ['19 policies', 'policy_ids', many(19, String), 'ok'],
    ['20 policies', 'policy_ids', many(20, String), 'ok'],
    ['21 policies', 'policy_ids', many(21, String), 'validation_failed policy_ids too_long'],
    ['a policy that is no string', 'policy_ids', [1], 'validation_failed policy_ids.0 string_type'],
    ['127 tools', 'tools', many(127, (n) => tool(`t${n}`)), 'ok'],
    ['128 tools', 'tools', many(128, (n) => tool(`t${n}`)), 'ok'],
    ['129 tools', 'tools', many(129, (n) => tool(`t${n}`)), 'validation_failed tools too_long'],
  ])('%s', (_, name, value, expected) => {
    const shown = ofField(name)(value);
    expect(shown).toBe(expected);
  });

  test('100,000 messages, and not one more', () => {
    const messages = (length: number) => body({ messages: many(length, () => ({ role: 'user', content: 'x' })) });
    expect(judge(messages(100_000))).toBe('ok');
    expect(judge(messages(100_001))).toBe('validation_failed messages too_long');
    expect(judge(messages(0))).toBe('validation_failed messages too_short');
  });
});

describe('tools', () => {
  test.each([
    [tool('a'), 'ok'],
    [tool(chars(128)), 'ok'],
    [tool('A-z_0', { type: 'custom', description: 'd', strict: true, cache_control: {}, input_examples: [{}] }), 'ok'],
    [tool('a', { type: null, description: null }), 'ok'],
    [tool(''), 'validation_failed tools.0.name string_pattern_mismatch'],
    [tool(chars(129)), 'validation_failed tools.0.name string_pattern_mismatch'],
    [tool('a b'), 'validation_failed tools.0.name string_pattern_mismatch'],
    [tool('ä'), 'validation_failed tools.0.name string_pattern_mismatch'],
    [{ name: 'a' }, 'validation_failed tools.0.input_schema missing'],
    [tool('a', { input_schema: {} }), 'validation_failed tools.0.input_schema.type missing'],
    [tool('a', { input_schema: { type: 'array' } }), 'validation_failed tools.0.input_schema.type literal_error'],
    [{ type: 'web_search_20250305', name: 'web_search' }, 'unsupported_tool tools.0.type value_error'],
    [tool('a', { type: 'bash_20250124' }), 'unsupported_tool tools.0.type value_error'],
    [tool('a', { type: 5 }), 'validation_failed tools.0.type string_type'],
    ['a', 'validation_failed tools.0 dict_type'],
  ])('%j → %s', (value, expected) => {
    expect(judge(body({ tools: [value] }))).toBe(expected);
  });

  test('names are unique', () => {
    expect(judge(body({ tools: [tool('a'), tool('b'), tool('a')] }))).toBe(
      'validation_failed tools.2.name value_error',
    );
  });
});

describe('tool_choice', () => {
  test.each([
    [{ tool_choice: { type: 'none' } }, 'ok'],
    [{ tool_choice: { type: 'auto' } }, 'ok'],
    [{ tool_choice: {} }, 'ok'],
    [{ tool_choice: { name: 'a' } }, 'validation_failed tools value_error'],
    [{ tool_choice: { type: 'any' }, tools: [] }, 'validation_failed tools value_error'],
    [{ tool_choice: { type: 'any', disable_parallel_tool_use: true }, tools: [tool('a')] }, 'ok'],
    [{ tool_choice: { type: null, name: null, disable_parallel_tool_use: null }, tools: [tool('a')] }, 'ok'],
    [{ tool_choice: { type: 'tool', name: 'a' }, tools: [tool('a')] }, 'ok'],
    [{ tool_choice: { name: 'a' }, tools: [tool('a')] }, 'ok'],
    [{ tool_choice: { name: 'b' }, tools: [tool('a')] }, 'validation_failed tool_choice.name value_error'],
    [{ tool_choice: { type: 'tool' }, tools: [tool('a')] }, 'validation_failed tool_choice.name missing'],
    [{ tool_choice: { type: 'auto', name: 'b' }, tools: [tool('a')] }, 'ok'],
    [{ tool_choice: { type: 'x' }, tools: [tool('a')] }, 'validation_failed tool_choice.type literal_error'],
    [{ tool_choice: 'auto', tools: [tool('a')] }, 'validation_failed tool_choice dict_type'],
  ])('%j → %s', (fields, expected) => {
    expect(judge(body(fields))).toBe(expected);
  });
});

describe('thinking', () => {
  test.each([
    [{ type: 'enabled', budget_tokens: 1 }, 'ok'],
    [{ budget_tokens: 99 }, 'ok'],
    [{ type: 'enabled', budget_tokens: 99 }, 'ok'],
    [{ type: 'enabled', budget_tokens: 100 }, 'validation_failed thinking.budget_tokens value_error'],
    [{ budget_tokens: 100 }, 'validation_failed thinking.budget_tokens value_error'],
    [{ type: 'disabled', budget_tokens: 100 }, 'ok'],
    [{ type: 'enabled', budget_tokens: 0 }, 'validation_failed thinking.budget_tokens greater_than_equal'],
    [{ type: 'disabled', budget_tokens: 999_990 }, 'ok'],
    [{ type: 'disabled', budget_tokens: 999_991 }, 'validation_failed thinking.budget_tokens less_than_equal'],
    [{ type: 'enabled' }, 'validation_failed thinking.budget_tokens missing'],
    [{}, 'validation_failed thinking.type missing'],
    [{ type: 'disabled' }, 'ok'],
    [{ type: 'adaptive' }, 'ok'],
    [{ type: 'between_tools' }, 'ok'],
    [{ type: 'on' }, 'validation_failed thinking.type literal_error'],
    [{ type: 'adaptive', display: 'omitted' }, 'ok'],
    [{ type: 'adaptive', display: 'summarized' }, 'ok'],
    [{ type: 'adaptive', display: null }, 'ok'],
    [{ type: 'adaptive', display: 'whole' }, 'validation_failed thinking.display literal_error'],
  ])('%j → %s', (thinking, expected) => {
    expect(judge(body({ thinking }))).toBe(expected);
  });
});

describe('output_config', () => {
  const sized = (bytes: number) => ({ type: 'json_schema', schema: { description: chars(bytes - 18) } });
  test.each([
    [{}, 'ok'],
    [{ format: null, effort: null }, 'ok'],
    [{ effort: 'low' }, 'ok'],
    [{ effort: 'max' }, 'ok'],
    [{ effort: 'most' }, 'validation_failed output_config.effort literal_error'],
    [{ format: { type: 'json_schema', schema: {} } }, 'ok'],
    [{ format: { type: 'json_schema' } }, 'validation_failed output_config.format.schema missing'],
    [{ format: { type: 'json_schema', schema: [] } }, 'validation_failed output_config.format.schema dict_type'],
    [{ format: { type: 'text' } }, 'validation_failed output_config.format.type literal_error'],
  ])('%j → %s', (output_config, expected) => {
    expect(judge(body({ output_config }))).toBe(expected);
  });

  test('a schema of 64 KiB, and not a byte more', () => {
    expect(JSON.stringify(sized(65_536).schema)).toHaveLength(65_536);
    expect(judge(body({ output_config: { format: sized(65_536) } }))).toBe('ok');
    const refused = 'validation_failed output_config.format.schema value_error';
    expect(judge(body({ output_config: { format: sized(65_537) } }))).toBe(refused);
  });
});

describe('context_management', () => {
  const edit = (fields: object) => ({ edits: [{ type: 'clear_thinking_20251015', ...fields }] });
  test.each([
    [{}, 'ok'],
    [{ edits: [] }, 'ok'],
    [edit({ keep: 'all' }), 'ok'],
    [edit({ keep: { type: 'all' } }), 'ok'],
    [edit({}), 'validation_failed context_management.edits.0.keep missing'],
    [edit({ keep: null }), 'validation_failed context_management.edits.0.keep dict_type'],
    [edit({ keep: 'some' }), 'validation_failed context_management.edits.0.keep value_error'],
    [
      edit({ keep: { type: 'thinking_turns', value: 1 } }),
      'validation_failed context_management.edits.0.keep.type literal_error',
    ],
    [
      { edits: [{ type: 'clear_tool_uses_20250919' }] },
      'validation_failed context_management.edits.0.type literal_error',
    ],
  ])('%j → %s', (context_management, expected) => {
    expect(judge(body({ context_management }))).toBe(expected);
  });
});

describe('metadata', () => {
  test.each([
    [{}, 'ok'],
    [{ user_id: null }, 'ok'],
    [{ user_id: chars(255) }, 'ok'],
    [{ user_id: chars(256) }, 'ok'],
    [{ user_id: chars(257) }, 'validation_failed metadata.user_id string_too_long'],
    [{ user_id: 5 }, 'validation_failed metadata.user_id string_type'],
    [Object.fromEntries(many(40, (n) => [`k${n}`, n % 2 ? chars(600) : n])), 'ok'],
    ['x', 'validation_failed metadata dict_type'],
  ])('%j → %s', (metadata, expected) => {
    expect(judge(body({ metadata }))).toBe(expected);
  });
});

describe('parameters that are not offered', () => {
  test.each([
    ['container', 'c'],
    ['container', { skills: [] }],
    ['mcp_servers', []],
    ['mcp_servers', [{ url: 'https://x.test' }]],
    ['fallbacks', [{ model: 'x' }]],
    ['speed', 'fast'],
  ])('%s = %j', (name, value) => {
    expect(judge(body({ [name]: value }))).toBe(`unsupported_parameter ${name} value_error`);
  });

  test('another speed does not exist at all', () => {
    expect(judge(body({ speed: 'slow' }))).toBe('validation_failed speed literal_error');
  });
});

test('null means absent in every optional field', () => {
  const names =
    'system stream temperature top_p top_k stop_sequences tools tool_choice thinking output_config context_management metadata policy_ids service_tier inference_geo speed container mcp_servers fallbacks';
  for (const name of names.split(' ')) expect(`${name} ${judge(body({ [name]: null }))}`).toBe(`${name} ok`);
});

test('what is not known is refused by its name', () => {
  expect(judge(body({ zzz: 1 }))).toBe('unsupported_parameter zzz value_error');
  expect(judge(body({ zzz: null, betas: null }))).toBe('ok');
});

describe('what is not known inside of a field is refused by its name too', () => {
  const schema = { type: 'json_schema', schema: { type: 'object', zzz: 1 } };
  const edit = { type: 'clear_thinking_20251015', keep: 'all' };
  const places: [path: string, fields: (of: object) => object][] = [
    ['messages.0', (of) => ({ messages: [{ role: 'user', content: 'x', ...of }] })],
    ['messages.0.output_config', (of) => ({ messages: [{ role: 'user', content: 'x', output_config: { ...of } }] })],
    ['thinking', (of) => ({ thinking: { type: 'disabled', ...of } })],
    ['output_config', (of) => ({ output_config: { effort: 'low', ...of } })],
    ['output_config.format', (of) => ({ output_config: { format: { ...schema, ...of } } })],
    ['tool_choice', (of) => ({ tool_choice: { type: 'none', ...of } })],
    ['context_management', (of) => ({ context_management: { edits: [edit], ...of } })],
    ['context_management.edits.0', (of) => ({ context_management: { edits: [{ ...edit, ...of }] } })],
    [
      'context_management.edits.0.keep',
      (of) => ({ context_management: { edits: [{ ...edit, keep: { type: 'all', ...of } }] } }),
    ],
  ];
  test.each(places)('%s', (path, fields) => {
    expect(judge(body(fields({ zzz: 1 })))).toBe(`unsupported_parameter ${path}.zzz value_error`);
    expect(judge(body(fields({ zzz: null })))).toBe('ok');
  });
});

describe('the effort from a message on', () => {
  test.each([
    [{ effort: 'medium' }, 'ok'],
    [{ effort: null }, 'ok'],
    [null, 'ok'],
    [{ effort: 'huge' }, 'validation_failed messages.1.output_config.effort literal_error'],
    [{ format: {} }, 'unsupported_parameter messages.1.output_config.format value_error'],
  ])('%j → %s', (output_config, expected) => {
    const noted = { role: 'system', content: 'Note.', output_config };
    expect(judge(body({ messages: [{ role: 'user', content: 'x' }, noted] }))).toBe(expected);
  });
});

describe('a body that is wrong in a million places', () => {
  const million = 1_000_000;
  test.each([
    ['content', body({ messages: [{ role: 'user', content: many(million, () => 0) }] })],
    ['messages', body({ messages: many(million, () => 0) })],
    ['stop_sequences', body({ stop_sequences: many(million, () => 0) })],
    ['policy_ids', body({ policy_ids: many(million, () => 0) })],
    ['tools', body({ tools: many(million, () => 0) })],
    ['system', body({ system: many(million, () => 0) })],
    ['input_examples', body({ tools: [tool('a', { input_examples: many(million, () => 0) })] })],
  ])('%s gives no more issues than an answer shows', (_, value) => {
    const result = compiled.safeParse(value);
    expect(result.error?.issues.length).toBe(20);
  });
});
