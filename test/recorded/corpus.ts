import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf, modelsOf, type Path, paths, placeholder, type recordedStage, type Said, type Way } from './stage.ts';

/** What was seen, in short, by the model that was asked. */
type Ways = Readonly<Record<string, string>>;

/** A body of a client, which each of the models of its path is asked with. */
export interface RecordedRequest {
  readonly path: Path;
  /** With `placeholder` for the id of the model. */
  readonly body: string;
  readonly ways: Ways;
}

/** An answer of an upstream, which comes to everybody who may ask there. */
export interface RecordedAnswer {
  readonly upstream: string;
  readonly stream: boolean;
  readonly status: number;
  readonly body: string;
  /** By path and model. */
  readonly ways: Ways;
}

const file = (name: string): string => join(import.meta.dirname, name);
const read = <T>(name: string): T[] =>
  readFileSync(file(name), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as T);

export const requests = (): RecordedRequest[] => read('requests.jsonl');
export const answers = (): RecordedAnswer[] => read('answers.jsonl');
export const write = (name: 'requests' | 'answers', all: readonly object[]): void =>
  writeFileSync(file(`${name}.jsonl`), all.map((each) => `${JSON.stringify(each)}\n`).join(''));

type Stage = Awaited<ReturnType<typeof recordedStage>>;

const refused: Said = {
  status: 400,
  media: 'application/json',
  body: Buffer.from('{"type":"error","error":{"type":"invalid_request_error","message":"no"}}'),
};

/** A line that a reader of a difference understands, and a digest of all the rest. */
const inShort = (way: Way): string => {
  const { status, need, account } = way;
  const tokens = need === null ? '-' : `${need.estimatedTokens}+${need.maxTokens}`;
  const paid = account === null ? '-' : `${account.usage_source}:${account.micro_dollars}`;
  return [status, tokens, paid, digestOf(way)].join(' ');
};

export interface Seen {
  readonly name: string;
  readonly way: Way;
  readonly short: string;
}

const seenOf = (name: string, way: Way): Seen => ({ name, way, short: inShort(way) });

/** Asks every model of the path. The upstream refuses what it is asked. */
export const seenOfRequest = async (stage: Stage, { path, body }: RecordedRequest): Promise<Seen[]> => {
  const seen: Seen[] = [];
  const models = body.includes(placeholder) ? modelsOf[path] : modelsOf[path].slice(0, 1);
  for (const model of models) {
    seen.push(seenOf(model, await stage.ask(path, Buffer.from(body.replace(placeholder, model)), refused)));
  }
  return seen;
};

const parameters = { type: 'object', properties: { gate: { type: 'integer' } } };
const name = 'open_gate';
const asking: Readonly<Record<Path, object>> = {
  '/v1/messages': {
    max_tokens: 500,
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [{ name, input_schema: parameters }],
  },
  '/v1/messages/count_tokens': { messages: [{ role: 'user', content: 'Hello' }] },
  '/v1/chat/completions': {
    max_tokens: 500,
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [{ type: 'function', function: { name, parameters } }],
  },
  '/v1/responses': {
    max_output_tokens: 500,
    input: 'Hello',
    tools: [{ type: 'function', name, parameters, strict: false }],
  },
};

/** Where a model asks for what comes by a path. */
const upstreamOf = (path: Path, model: string): string => {
  if (model === 'openai') return path;
  if (model === 'openai-strict') return '/v1/chat/completions';
  return path === '/v1/messages/count_tokens' ? path : '/v1/messages';
};

/** Asks by every path and model whose upstream may give this answer. */
export const seenOfAnswer = async (
  stage: Stage,
  { upstream, stream, status, body }: RecordedAnswer,
): Promise<Seen[]> => {
  const seen: Seen[] = [];
  const media = stream && status < 300 ? 'text/event-stream' : 'application/json';
  for (const path of paths) {
    for (const model of modelsOf[path]) {
      if (model === 'small' || upstreamOf(path, model) !== upstream) continue;
      const asked = Buffer.from(JSON.stringify({ model, stream: stream || undefined, ...asking[path] }));
      const way = await stage.ask(path, asked, { status, media, body: Buffer.from(body) });
      seen.push(seenOf(`${path} ${model}`, way));
    }
  }
  return seen;
};

export const waysOf = (seen: readonly Seen[]): Ways =>
  Object.fromEntries(seen.map(({ name: by, short }) => [by, short]));
