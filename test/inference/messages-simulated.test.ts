import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { messagesRoute } from '../../src/data/api/messages/messages.ts';
import { connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import { body, tool } from './body.ts';
import { send } from './call.ts';
import { FakeSink, type ServerSentEvent } from './fake-sink.ts';

const route = messagesRoute({
  models: connect(loadModels(null, {}), { clock: systemClock }),
  clock: systemClock,
  answerId: () => 'msg_1',
});

/** The message that a reader of the stream ends up with. */
const assemble = (events: readonly ServerSentEvent[]) => {
  const message = events[0]?.data.message;
  let json = '';
  for (const { data } of events) {
    const block = message.content[data.index];
    if (data.type === 'content_block_start') {
      expect(data.index).toBe(message.content.length);
      message.content.push(data.content_block);
      json = '';
    } else if (data.type === 'content_block_delta') {
      const { delta } = data;
      if (delta.type === 'text_delta') block.text += delta.text;
      else if (delta.type === 'thinking_delta') block.thinking += delta.thinking;
      else if (delta.type === 'signature_delta') block.signature += delta.signature;
      else json += delta.partial_json;
    } else if (data.type === 'content_block_stop' && block.type === 'tool_use') {
      block.input = JSON.parse(json);
    } else if (data.type === 'message_delta') {
      Object.assign(message, data.delta);
      Object.assign(message.usage, data.usage);
    }
  }
  return message;
};

const weather = tool('weather', {
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
});
const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };

test.each([
  ['text', {}, 'end_turn'],
  ['a limit', { max_tokens: 3 }, 'max_tokens'],
  [
    'thinking',
    { model: 'weir-sim-thinking-1', max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 1024 } },
    'end_turn',
  ],
  ['a tool', { max_tokens: 4000, tools: [weather], tool_choice: { type: 'any' } }, 'tool_use'],
  ['a schema', { max_tokens: 4000, output_config: { format: { type: 'json_schema', schema } } }, 'end_turn'],
])('%s: what is streamed adds up to what is answered in one piece', async (_, fields, reason) => {
  for (const headers of [{}, { 'anthropic-version': '2026-10-21' }]) {
    const request = body({ model: 'weir-sim-1', max_tokens: 2000, ...fields });
    const whole = await send(route, request, { headers });
    expect(whole.body.stop_reason).toBe(reason);
    const sink = new FakeSink();
    await (await send(route, { ...request, stream: true }, { headers })).stream!(sink);
    expect(assemble(sink.events)).toStrictEqual(whole.body);
  }
});
