import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';

/** A member that no schema sees is refused by its name, wherever it stands in a request to a strict model (contract G.1). */

let at: Awaited<ReturnType<typeof wholeGateway>>;
let key: string;
beforeAll(async () => {
  at = await wholeGateway();
  key = (await at.make.tenant()).projectKey.value;
});
afterAll(() => at.close());

const model = '"model":"weir-sim-1"';
const user = '"messages":[{"role":"user","content":"Hi"}]';
const called = (sent: string) =>
  `[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"${sent}"}}]},` +
  '{"role":"tool","tool_call_id":"a","content":"x"}]';
const own = '"__proto__":{"x":1}';

describe.each<readonly [path: string, bodies: readonly (readonly [param: string, body: string])[]]>([
  [
    '/v1/messages',
    [
      ['__proto__', `{${model},"max_tokens":5,${user},${own}}`],
      ['__proto__', `{"\\u005f_proto__":"x",${model},"max_tokens":5,${user}}`],
      ['messages.0.__proto__', `{${model},"max_tokens":5,"messages":[{"role":"user","content":"Hi",${own}}]}`],
      [
        'messages.0.content.0.__proto__',
        `{${model},"max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"Hi",${own}}]}]}`,
      ],
      ['output_config.__proto__', `{${model},"max_tokens":5,${user},"output_config":{${own}}}`],
      ['metadata.__proto__', `{${model},"max_tokens":5,${user},"metadata":{${own}}}`],
      [
        'tools.0.input_schema.__proto__',
        `{${model},"max_tokens":5,${user},"tools":[{"name":"f","input_schema":{"type":"object",${own}}}]}`,
      ],
    ],
  ],
  ['/v1/messages/count_tokens', [['__proto__', `{${model},${user},${own}}`]]],
  [
    '/v1/chat/completions',
    [
      ['__proto__', `{${model},${user},${own}}`],
      ['messages.0.__proto__', `{${model},"messages":[{"role":"user","content":"Hi",${own}}]}`],
      ['metadata.__proto__', `{${model},${user},"metadata":{"__proto__":"x"}}`],
      ['messages.1.tool_calls.0', `{${model},"messages":${called('{\\"__proto__\\":1}')}}`],
    ],
  ],
  [
    '/v1/responses',
    [
      ['__proto__', `{${model},"input":"Hi",${own}}`],
      ['input.0.__proto__', `{${model},"input":[{"role":"user","content":"Hi",${own}}]}`],
      ['reasoning.__proto__', `{${model},"input":"Hi","reasoning":{${own}}}`],
    ],
  ],
])('on %s', (path, bodies) => {
  const send = (body: string) => at.call('POST', path, { headers: bearer(key), body });
  test.each(bodies)('%s is refused: %s', async (param, body) => {
    const { status, body: refused } = await send(body);
    const isChat = path === '/v1/chat/completions' || path === '/v1/responses';
    expect([status, refused.error.code, refused.error.param]).toEqual([
      isChat ? 400 : 422,
      'unsupported_parameter',
      param,
    ]);
  });
  test('null stands for nothing, as of any other field', async () => {
    const [, body] = bodies[0]!;
    expect((await send(body.replace(own, '"__proto__":null'))).status).toBe(200);
  });
});

test('deeper inside of a schema it is a name like any other', async () => {
  const schema = '{"type":"object","properties":{"__proto__":{"const":7}},"required":["__proto__"]}';
  const body = `{${model},"max_tokens":50,${user},"output_config":{"format":{"type":"json_schema","schema":${schema}}}}`;
  const answer = await at.call('POST', '/v1/messages', { headers: bearer(key), body });
  expect([answer.status, answer.body.content?.[0]?.text]).toEqual([200, '{"__proto__":7}']);
});
