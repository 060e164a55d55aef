// Lane: daily, alone: a server of models in Python
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, type TestContext, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { fromPyPI, type Kept } from '../support/kept.ts';
import { tinyGguf } from '../support/tiny-gguf.ts';
import { wholeGateway } from '../support/whole-gateway.ts';

/**
 * An independent server of chat completions, llama.cpp's own out of a wheel for Python, as upstream. Its model is of random
 * weights: what it says is nonsense, and the same each time where nothing is left to chance.
 */

vi.setConfig({ testTimeout: 120_000, hookTimeout: 420_000 });

const folder = mkdtempSync(join(tmpdir(), 'weir-llama-'));
let installed: Kept;
let llama: ChildProcess | null = null;
let at: Awaited<ReturnType<typeof wholeGateway>>;
let gateway: HttpServer;
let key: string;
let theirs: OpenAI;
let ours: OpenAI;
let messages: Anthropic;

/** Serves a model until nobody holds its standard input any more, and says where. */
const program = `
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 512
params.cache_prompt = False
params.hostnames = ['127.0.0.1']
params.port = 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
`;

const startLlama = async (dir: string): Promise<string> => {
  const file = join(folder, 'tiny.gguf');
  writeFileSync(file, tinyGguf());
  llama = spawn(join(dir, 'bin', 'python'), ['-c', program, file], { stdio: ['pipe', 'pipe', 'ignore'] });
  for await (const line of createInterface(llama.stdout!)) return line;
  throw new Error(`llama.cpp's server has ended with ${llama.exitCode}`);
};

beforeAll(async () => {
  installed = await fromPyPI('llama-cpp', ['xllamacpp==2026.10.11549']);
  if ('missing' in installed) return;
  const url = await startLlama(installed.dir);
  const entry = (id: string, over: object = {}) => ({
    id,
    context_length: 4096,
    max_output_length: 4096,
    supported_features: ['structured_outputs'],
    upstream: { kind: 'openai', base_url: url, private_network: true, model: 'tiny' },
    ...over,
  });
  const declared = [entry('passing'), entry('strict', { passthrough: false })];
  const models = connect(loadModels(JSON.stringify({ models: declared }), {}), { clock: systemClock });
  at = await wholeGateway({ models });
  key = (await at.make.tenant()).projectKey.value;
  gateway = await at.listen();
  const baseURL = `http://127.0.0.1:${gateway.port}`;
  theirs = new OpenAI({ apiKey: 'none', baseURL: `${url}/v1`, maxRetries: 0 });
  ours = new OpenAI({ apiKey: key, baseURL: `${baseURL}/v1`, maxRetries: 0 });
  messages = new Anthropic({ apiKey: null, authToken: key, baseURL, maxRetries: 0 });
});
afterAll(async () => {
  llama?.kill('SIGKILL');
  await gateway?.drain(0);
  await at?.close();
  rmSync(folder, { recursive: true, force: true });
});

const here = ({ skip }: TestContext): void => {
  if ('missing' in installed) skip(`llama.cpp cannot be had here: ${installed.missing}`);
};

const turns = [{ role: 'user' as const, content: 'Where does the weir begin?' }];
const asked = { max_tokens: 12, temperature: 0, messages: turns };
/** What the server says itself. */
const said = async () => {
  const { choices, usage } = await theirs.chat.completions.create({ ...asked, model: 'tiny' });
  return { text: choices[0]!.message.content ?? '', reason: choices[0]!.finish_reason, usage: usage! };
};

describe.each(['passing', 'strict'])('a %s model', (model) => {
  test('says the same to chat clients, whole and streamed', async (context) => {
    here(context);
    const { text, reason, usage } = await said();
    expect(text.length).toBeGreaterThan(0);
    const whole = await ours.chat.completions.create({ ...asked, model });
    expect(whole.choices[0]).toMatchObject({ message: { content: text }, finish_reason: reason });
    expect(whole).toMatchObject({ model, usage: { ...usage } });
    const streamed = await ours.chat.completions
      .stream({ ...asked, model, stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(streamed.choices[0]).toMatchObject({ message: { content: text }, finish_reason: reason });
  });

  test('says the same to messages clients, whole and streamed', async (context) => {
    here(context);
    const { text, usage } = await said();
    const whole = await messages.messages.create({ ...asked, model });
    expect(whole.content).toEqual([{ type: 'text', text }]);
    expect(whole).toMatchObject({
      stop_reason: 'max_tokens',
      usage: { input_tokens: usage.prompt_tokens, output_tokens: usage.completion_tokens },
    });
    const streamed = await messages.messages.stream({ ...asked, model }).finalMessage();
    expect(streamed.content).toEqual([{ type: 'text', text }]);
    expect(streamed.stop_reason).toBe('max_tokens');
    // It tells no usage of streams: what was sent is counted.
    expect(streamed.usage.output_tokens).toBeGreaterThan(0);
  });

  test('is stopped by a sequence', async (context) => {
    here(context);
    const { text } = await said();
    // The first that is a character of its own: the others stand for bytes that are no text.
    const stop = /[!-~]/.exec(text.slice(1))![0];
    const answer = await ours.chat.completions.create({ ...asked, model, stop: [stop] });
    expect(answer.choices[0]).toMatchObject({
      message: { content: text.slice(0, text.indexOf(stop)) },
      finish_reason: 'stop',
    });
  });

  test('that gets more than its context says so', async (context) => {
    here(context);
    const long = { ...asked, model, messages: [{ role: 'user' as const, content: 'a'.repeat(2000) }] };
    const error = await ours.chat.completions.create(long).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ status: 400, code: 'context_length_exceeded' });
    expect(String((error as Error).message)).not.toContain('127.0.0.1');
  });
});

test('a system prompt, several turns and the wish for JSON arrive', async (context) => {
  here(context);
  // The server refuses to tell JSON that breaks off: what is asked for comes to its end.
  const schema = {
    type: 'object',
    properties: { yes: { type: 'boolean' } },
    required: ['yes'],
    additionalProperties: false,
  };
  const answer = await messages.messages.create({
    model: 'strict',
    max_tokens: 200,
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [
      ...turns,
      { role: 'assistant', content: 'Here.' },
      { role: 'user', content: [{ type: 'text', text: 'Yes?' }] },
    ],
    output_config: { format: { type: 'json_schema', schema } },
  });
  const texts = answer.content.map((block) => (block.type === 'text' ? block.text : ''));
  expect(texts.map((text) => JSON.parse(text))).toEqual([{ yes: expect.any(Boolean) }]);
});

test('a client that leaves ends the answer, and the next is answered', async (context) => {
  here(context);
  const controller = new AbortController();
  const stream = await ours.chat.completions.create(
    { ...asked, model: 'passing', max_tokens: 400, stream: true },
    { signal: controller.signal },
  );
  for await (const _ of stream) controller.abort();
  const { text } = await said();
  const next = await ours.chat.completions.create({ ...asked, model: 'passing' });
  expect(next.choices[0]!.message.content).toBe(text);
});
