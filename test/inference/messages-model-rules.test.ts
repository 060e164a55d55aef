import { describe, expect, test } from 'vitest';
import { messagesRoute } from '../../src/data/api/messages/messages.ts';
import type { Model } from '../../src/data/upstream/models/models.ts';
import { expectRefusedInput } from '../support/refused-input.ts';
import { assistant, body, image, text, tool, toolResult, toolUse, user } from './body.ts';
import { type CallOptions, send } from './call.ts';
import { hosted, model } from './hosted.ts';
import { manualClock } from './manual-clock.ts';
import { ScriptedUpstream } from './scripted-upstream.ts';

const judge = async (of: Model, fields: object, options: CallOptions = {}) => {
  const upstream = new ScriptedUpstream();
  const route = messagesRoute({
    models: hosted(upstream, of),
    clock: manualClock(),
    answerId: () => 'msg_1',
  });
  const sent = body({ model: of.id, ...fields });
  const { status, headers, body: answer } = await send(route, sent, options);
  expect(upstream.requests).toHaveLength(status === 200 ? 1 : 0);
  if (status === 200) return 'ok';
  if (status === 422) expect(answer.detail[0].loc).toEqual(['body', ...answer.error.param.split('.')]);
  expectRefusedInput(sent, answer);
  const retry = headers['Retry-After'] === undefined ? '' : ` ${headers['Retry-After']}`;
  return `${status} ${answer.error.code} ${answer.error.param}${retry}`;
};

describe('the model', () => {
  test('is one that there is', async () => {
    expect(await judge(model(), { model: 'other' })).toBe('404 model_not_found model');
    expect(await judge(model(), { model: '__proto__' })).toBe('404 model_not_found model');
  });

  test('is ready', async () => {
    expect(await judge(model({ is_ready: false }), {})).toBe('503 model_not_ready null 30');
  });

  test.each([0, 1, 2, 3, 4, 5])('that wants tier 2 is locked below it (tier %i)', async (tier) => {
    const locked = model({ access: { required_checks: ['tier:2'] } });
    expect(await judge(locked, {}, { tier })).toBe(tier < 2 ? '403 model_locked model' : 'ok');
  });

  test('that wants credits is not locked: the hold will tell', async () => {
    expect(await judge(model({ access: { required_checks: ['credits'] } }), {})).toBe('ok');
  });
});

describe('policies', () => {
  test('are none yet', async () => {
    expect(await judge(model(), { policy_ids: [] })).toBe('ok');
    expect(await judge(model(), { policy_ids: ['pol_1'] })).toBe('404 policy_not_found policy_ids.0');
  });

  test('are resolved after the model', async () => {
    expect(await judge(model(), { model: 'other', policy_ids: ['pol_1'] })).toBe('404 model_not_found model');
  });
});

describe('output', () => {
  test.each([
    [63, 'ok'],
    [64, 'ok'],
    [65, '422 validation_failed max_tokens'],
  ])('max_tokens %i of 64', async (max_tokens, expected) => {
    expect(await judge(model({ max_output_length: 64 }), { max_tokens })).toBe(expected);
  });
});

describe('sampling limits', () => {
  const limited = model({
    sampling_limits: {
      temperature: { min: 0.5, max: 1 },
      top_p: { max: 0.9 },
      top_k: { min: 1, max: 40 },
      max_tokens: { min: 10 },
      stop: { max_items: 2, max_length: 3 },
    },
  });
  test.each([
    [{ temperature: 0.49 }, '422 validation_failed temperature'],
    [{ temperature: 0.5 }, 'ok'],
    [{ temperature: 1 }, 'ok'],
    [{ temperature: 1.01 }, '422 validation_failed temperature'],
    [{ temperature: null }, 'ok'],
    [{ top_p: 0 }, 'ok'],
    [{ top_p: 0.91 }, '422 validation_failed top_p'],
    [{ top_k: 0 }, '422 validation_failed top_k'],
    [{ top_k: 40 }, 'ok'],
    [{ top_k: 41 }, '422 validation_failed top_k'],
    [{ max_tokens: 9 }, '422 validation_failed max_tokens'],
    [{ stop_sequences: ['abc', 'b'] }, 'ok'],
    [{ stop_sequences: ['a', 'b', 'c'] }, '422 validation_failed stop_sequences'],
    [{ stop_sequences: ['a', 'abcd'] }, '422 validation_failed stop_sequences.1'],
  ])('%j → %s', async (fields, expected) => expect(await judge(limited, fields)).toBe(expected));
});

describe('features', () => {
  const plain = model({ supported_features: [] });
  const format = { type: 'json_schema', schema: {} };
  test.each([
    [{ tools: [tool('a')] }, '422 unsupported_parameter tools'],
    [{ tools: [] }, 'ok'],
    [{ output_config: { format } }, '422 unsupported_parameter output_config.format'],
    [{ output_config: { effort: 'low' } }, 'ok'],
    [{ thinking: { type: 'adaptive' } }, '422 unsupported_parameter thinking'],
    [{ thinking: { type: 'disabled' } }, 'ok'],
  ])('%j → %s', async (fields, expected) => {
    expect(await judge(plain, fields)).toBe(expected);
    expect(await judge(model(), fields)).toBe('ok');
  });

  test('prefill', async () => {
    const messages = [user(text('x')), assistant(text('y'))];
    expect(await judge(model({ prefill: false }), { messages })).toBe('422 validation_failed messages.1.role');
    expect(await judge(model(), { messages })).toBe('ok');
  });
});

describe('thinking budget', () => {
  test.each([
    [{ type: 'enabled', budget_tokens: 1 }, 1025, 'ok'],
    [{ type: 'enabled', budget_tokens: 1 }, 1024, '422 validation_failed thinking.budget_tokens'],
    [{ type: 'enabled', budget_tokens: 1 }, 2, '422 validation_failed thinking.budget_tokens'],
    [{ type: 'disabled', budget_tokens: 1 }, 2, 'ok'],
    [{ type: 'adaptive' }, 2, 'ok'],
  ])('%j with max_tokens %i', async (thinking, max_tokens, expected) => {
    expect(await judge(model(), { thinking, max_tokens })).toBe(expected);
  });
});

describe('media', () => {
  const png = image('AAAA');
  const remote = { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } };
  const document = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } };
  const nested = { type: 'document', source: { type: 'content', content: [text('x'), png] } };
  const said = (...content: unknown[]) => ({ messages: [user(text('x'), ...content)] });
  const inTool = (...content: unknown[]) => ({
    messages: [user(text('x')), assistant(toolUse('t')), user(toolResult('t', { content }))],
  });
  test.each([
    [['text'], said(png), '422 unsupported_content_block messages.0.content.1.type'],
    [['text', 'image'], said(png), 'ok'],
    [['text', 'image'], said(document), '422 unsupported_content_block messages.0.content.1.type'],
    [['text', 'file'], said(document), 'ok'],
    [['text', 'file'], said(nested), '422 unsupported_content_block messages.0.content.1.source.content.1.type'],
    [['text', 'file', 'image'], said(nested), 'ok'],
    [['text'], inTool(text('a'), png), '422 unsupported_content_block messages.2.content.0.content.1.type'],
    [['text', 'image'], inTool(text('a'), png), 'ok'],
    [['text', 'image'], said(remote), '422 invalid_media messages.0.content.1.source.url'],
  ])('a model that takes %j', async (input_modalities, fields, expected) => {
    expect(await judge(model({ input_modalities }), fields)).toBe(expected);
  });
});

describe('context', () => {
  // ⌈3 × n / 3⌉ + 8 for one message
  test.each([
    [91, 'ok'],
    [92, 'ok'],
    [93, '422 context_length_exceeded messages'],
  ])('%i × 3 bytes of 100 tokens', async (n, expected) => {
    const small = model({ context_length: 100, max_output_length: 100 });
    const messages = [
      {
        role: 'user',
        content: 'ä€'
          .repeat(n)
          .slice(0, 2 * n)
          .replaceAll('ä', ''),
      },
    ];
    expect(await judge(small, { messages })).toBe(expected);
  });
});
