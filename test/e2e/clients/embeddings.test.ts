import { execFile } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { passingStage, says } from '../../inference/passing-stage.ts';
import { fromNpm, fromPyPI } from '../../support/kept.ts';

/** Embedders of others against a gateway, with texts and with tokens (contract G.9). */

vi.setConfig({ testTimeout: 400_000, hookTimeout: 60_000 });

const run = promisify(execFile);
const script = (name: string): string => fileURLToPath(new URL(`scripts/${name}`, import.meta.url));

let stage: Awaited<ReturnType<typeof passingStage>>;
let inputs: unknown[];
beforeAll(async () => {
  stage = await passingStage('sk-canary-ee05', (remote) => [
    { id: 'text-embedding-3-small', upstream: { kind: 'openai', ...remote, apis: ['embeddings'] } },
  ]);
  stage.upstream.respond = embeds;
});
afterAll(() => stage.close());
beforeEach(() => {
  inputs = [];
});

interface Asked {
  readonly input: string | readonly (string | readonly number[])[];
  readonly encoding_format?: string;
  readonly dimensions?: number;
}

/** As OpenAI does: the first number is the length of the text, or of its tokens. */
const embeds = (response: ServerResponse): void => {
  const { input, encoding_format: format, dimensions = 3 } = JSON.parse(stage.upstream.received!.text) as Asked;
  inputs.push(input);
  const data = (typeof input === 'string' ? [input] : input).map((entry, index) => {
    const numbers = Float32Array.from({ length: dimensions }, (_, at) => (at === 0 ? entry.length : 0.5));
    const embedding = format === 'base64' ? Buffer.from(numbers.buffer).toString('base64') : [...numbers];
    return { object: 'embedding', index, embedding };
  });
  says({ object: 'list', data, model: 'theirs', usage: { prompt_tokens: 21, total_tokens: 21 } })(response);
};

const printed = async (command: string, file: string): Promise<unknown> => {
  const { value } = stage.mine.projectKey;
  const args = [file, `http://127.0.0.1:${stage.port}`, value, 'text-embedding-3-small'];
  const { stdout } = await run(command, args, { timeout: 180_000, env: { ...process.env, PYTHONWARNINGS: 'ignore' } });
  return JSON.parse(stdout.trim().split('\n').at(-1)!);
};
const three = [
  [3, 3],
  [5, 3],
  [0, 3],
];
const two = three.slice(0, 2);
const sdk = {
  sdk: three,
  'sdk, float': [[3, 3]],
  'sdk, tokens': [
    [2, 3],
    [1, 3],
  ],
  'sdk, refused': ['validation_failed', 'input'],
};
const five = three.map(([first]) => [first, 5]);
const tokens = [[...'one'], [...'three']].map((letters) => letters.map((letter) => letter.charCodeAt(0)));

test('openai and LangChain for JavaScript', async ({ skip }) => {
  const kept = await fromNpm('embedders', {
    openai: '7.55.0',
    '@langchain/openai': '1.6.0',
    '@langchain/core': '1.4.0',
  });
  if ('missing' in kept) return skip(kept.missing);
  // A module looks for packages where it is.
  const beside = join(kept.dir, 'embeddings.mjs');
  copyFileSync(script('embeddings.mjs'), beside);
  expect(await printed(process.execPath, beside)).toEqual({ ...sdk, 'sdk, dimensions': five, LangChain: two });
});

test('openai, LangChain and LlamaIndex for Python', async ({ skip }) => {
  const packages = ['openai==3.57.0', 'langchain-openai==1.7.4', 'llama-index-embeddings-openai==0.7.0'];
  const kept = await fromPyPI('embedders', packages);
  if ('missing' in kept) return skip(kept.missing);
  expect(await printed(join(kept.dir, 'bin', 'python'), script('embeddings_client.py'))).toEqual({
    ...sdk,
    'sdk, async': five,
    'LangChain, tokens': two,
    'LangChain, texts': two,
    LlamaIndex: two,
  });
  // LangChain sends tokens unless it is told not to.
  expect(inputs).toContainEqual(tokens);
});
