import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';

/** Numbers that pass through, from a client over the gateway to an upstream and back, each over a socket. */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** What JSON.parse and JSON.stringify would make of most of these is another text. */
const numbers =
  '[9007199254740993,-9007199254740993,123456789012345678901234567890,1.0,0.10,100.000,1e2,1E+2,-0,0.0000001,' +
  '3.141592653589793238,1e-400,1e400,-1E+400,0.1,-1.5,7]';
const input = `{"id":9007199254740993,"deep":{"list":[{"of":${numbers}}]},"text":"9007199254740993 1.0"}`;

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let key: string;
/** What the upstream was sent last, and what it says. */
let received = '';
let says: { type: string; text: string };
const upstream = createServer(async (incoming, response) => {
  received = '';
  for await (const piece of incoming) received += String(piece);
  response.writeHead(200, { 'content-type': says.type }).end(says.text);
});

beforeAll(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const base_url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const sizes = { context_length: 200_000, max_output_length: 64_000 };
  const remote = { kind: 'anthropic', base_url, api_key_env: 'KEY', private_network: true };
  const declared = [
    { id: 'remote', ...sizes, passthrough: false, upstream: remote },
    { id: 'simulated', ...sizes, upstream: { kind: 'simulated' } },
  ];
  const models = loadModels(JSON.stringify({ models: declared }), { KEY: 'sk-canary-9f1d' });
  at = await wholeGateway({ models: connect(models, { clock: systemClock }) });
  server = await at.listen();
  key = (await at.make.tenant()).projectKey.value;
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
  await new Promise((resolve) => upstream.close(resolve));
});

const post = async (text: string, path = '/v1/messages'): Promise<string> => {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json' },
    body: text,
  });
  const said = await response.text();
  expect(response.status, said).toBe(200);
  return said;
};
const message = (content: string) =>
  `{"id":"msg_1","type":"message","role":"assistant","model":"x","content":${content},"stop_reason":"tool_use",` +
  '"stop_sequence":null,"usage":{"input_tokens":21.0,"output_tokens":1e1}}';
const asked = (rest = '', model = 'remote') =>
  `{"model":"${model}","max_tokens":1000,"messages":[{"role":"user","content":"x"}]${rest}}`;

describe('to the upstream', () => {
  beforeAll(() => {
    says = { type: 'application/json', text: message('[{"type":"text","text":"x"}]') };
  });

  test('inputs and results of tools', async () => {
    const conversation =
      `[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":${input}}]},` +
      '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"7"}]}]';
    await post(`{"model":"remote","max_tokens":1000,"temperature":1.0,"messages":${conversation}}`);
    expect(received).toContain(`"input":${input}`);
    expect(JSON.parse(received)).toMatchObject({ max_tokens: 1000, temperature: 1 });
  });

  test('schemas and examples of tools, and of the output', async () => {
    const schema = `{"type":"object","properties":{"n":{"enum":${numbers},"minimum":-9007199254740993,"multipleOf":1.0}}}`;
    await post(
      asked(
        `,"tools":[{"name":"n","input_schema":${schema},"input_examples":[${input}]}],` +
          `"output_config":{"format":{"type":"json_schema","schema":${schema}}}`,
      ),
    );
    expect(received).toContain(`"input_schema":${schema}`);
    expect(received).toContain(`"input_examples":[${input}]`);
    // Its objects are closed on the way.
    expect(received).toContain(`"schema":${schema.slice(0, -1)},"additionalProperties":false}}`);
  });

  test('and what looks like a number in a text stays one', async () => {
    const text = '1.0 9007199254740993 \\"1.0\\" \\\\';
    await post(asked(`,"system":"${text}","tools":[{"name":"n","input_schema":{"type":"object","x":1.0}}]`));
    expect(received).toContain(`"system":"${text}"`);
  });
});

describe('from the upstream', () => {
  test('in an answer', async () => {
    says = {
      type: 'application/json',
      text: message(`[{"type":"text","text":"1.0"},{"type":"tool_use","id":"t","name":"n","input":${input}}]`),
    };
    const said = await post(asked());
    expect(said).toContain(`"input":${input}`);
    expect(JSON.parse(said).usage).toMatchObject({ input_tokens: 21, output_tokens: 10 });
  });

  test.each([
    ['chat/completions', '"messages":[{"role":"user","content":"x"}]'],
    ['responses', '"input":"x"'],
  ])('in an answer of %s', async (path, members) => {
    says = {
      type: 'application/json',
      text: message(`[{"type":"tool_use","id":"t","name":"n","input":${input}}]`),
    };
    const said = await post(`{"model":"remote",${members}}`, `/v1/${path}`);
    expect(said).toContain(`"arguments":${JSON.stringify(input)}`);
  });

  test.each([
    ['in pieces', '{}', [input.slice(0, 30), input.slice(30)]],
    ['at the start of its block', input, []],
  ])('in a stream, %s', async (_, first, pieces) => {
    const event = (type: string, rest = '') => `event: ${type}\ndata: {"type":"${type}"${rest}}\n\n`;
    const delta = (piece: string) =>
      event(
        'content_block_delta',
        `,"index":0,"delta":{"type":"input_json_delta","partial_json":${JSON.stringify(piece)}}`,
      );
    says = {
      type: 'text/event-stream',
      text: [
        event('message_start', `,"message":${message('[]')}`),
        event(
          'content_block_start',
          `,"index":0,"content_block":{"type":"tool_use","id":"t","name":"n","input":${first}}`,
        ),
        ...pieces.map(delta),
        event('content_block_stop', ',"index":0'),
        event('message_delta', ',"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}'),
        event('message_stop'),
      ].join(''),
    };
    const said = await post(asked(',"stream":true'));
    const partial = [...said.matchAll(/^data: (.*input_json_delta.*)$/gm)].map(
      ([, data]) => JSON.parse(data!).delta.partial_json,
    );
    expect(partial.join('')).toBe(input);
  });

  test('which is simulated and has them from a schema', async () => {
    const properties =
      '{"a":{"const":9007199254740993},"b":{"type":"integer","enum":[9007199254740995]},"c":{"const":1.0}}';
    const schema = `{"type":"object","properties":${properties},"required":["a","b","c"]}`;
    const tools = `,"tools":[{"name":"n","input_schema":${schema}}],"tool_choice":{"type":"any"}`;
    const whole = await post(asked(tools, 'simulated'));
    expect(whole).toContain('"a":9007199254740993');
    expect(whole).toContain('"b":9007199254740995');
    expect(whole).toContain('"c":1.0');
  });
});
