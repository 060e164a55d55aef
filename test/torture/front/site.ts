import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { certificateAuthority, signedBy } from '../../support/certificates.ts';
import { type Gateway, newAdminKey, startGateway, withoutLimits } from '../gateway.ts';
import { provider } from '../models/provider.ts';
import { chunk, closing, delta, json, lastChunk, opening, streamHead } from '../models/recorded.ts';
import { at } from '../models/site.ts';
import type { Scene } from '../scene.ts';
import { ask, bearer, type Front, type Heard, type Known } from './clients.ts';
import type { Target } from './connection.ts';
import { type Keys, origins, reply } from './pipelines.ts';

/** Questions from this number on are answered when they are let go. */
export const firstHeld = 1_000_000_000;
/** What a key of the attackers may have in flight. */
export const slots = 3;
/** One in so many answers of models is above what the server's core keeps for one write. */
const longOf = 7;
const long = ` ${'x'.repeat(40_000)}`;
const drainMs = 10_000;
const patienceMs = 60_000;
const careless = fileURLToPath(new URL('../careless-front.mjs', import.meta.url));

/** A gateway to be attacked, and honest clients' way to it. */
export interface Site {
  readonly gateway: Gateway;
  readonly front: Front;
  readonly listener: Target;
  readonly metrics: Target;
  readonly store: Target;
  readonly known: Known;
  readonly attackers: Keys;
  /** Lines of the log with the level of an error. */
  readonly errors: readonly string[];
  /** What was written last that is no line of the log. */
  readonly words: () => string;
  /** Questions that wait for `letGo`. */
  held(): number;
  letGo(): void;
  /** The value of a metric without labels. */
  gauge(name: string): Promise<number>;
}

const message = (n: number, text: string) => ({
  id: `msg_${n}`,
  type: 'message',
  role: 'assistant',
  model: 'remote',
  content: [{ type: 'text', text }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 9 },
});

const answerOf = (n: number, isStream: boolean): string => {
  const text = reply(n) + (n % longOf === 0 ? long : '');
  return isStream
    ? [streamHead, ...[opening(n), delta(text), closing].map(chunk), lastChunk].join('')
    : json('200 OK', message(n, text));
};

/** Until it has come to pass. */
export const until = async <T>(
  what: string,
  holds: () => Promise<T | undefined> | T | undefined,
  withinMs = patienceMs,
): Promise<T> => {
  for (const end = performance.now() + withinMs; ; ) {
    const value = await holds();
    if (value !== undefined) return value;
    if (performance.now() > end) throw new Error(`within ${withinMs / 1000} s ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

const certified = (dir: string) => {
  const ca = certificateAuthority();
  const { cert, key } = signedBy(ca, ['127.0.0.1']);
  const files = { TLS_CERT_FILE: join(dir, 'tls.crt'), TLS_KEY_FILE: join(dir, 'tls.key') };
  writeFileSync(files.TLS_CERT_FILE, cert);
  writeFileSync(files.TLS_KEY_FILE, key, { mode: 0o600 });
  return { files, ca: ca.cert };
};

const parsed = <T>(what: string, { status, text }: Heard): T => {
  if (status < 200 || status > 299) throw new Error(`${what} was answered ${status} ${text}`);
  return JSON.parse(text) as T;
};

/** An organization of the attackers, with a key whose slots are few. */
const attackersOf = async (front: Front, env: Readonly<Record<string, string>>): Promise<Keys> => {
  const admin = await newAdminKey(env);
  const path = '/v1/organization/projects';
  const listed = async () => {
    const { status } = await ask(front, { path, headers: bearer(admin) });
    return status === 200 ? status : undefined;
  };
  await until('the gateway does not know a new key', listed);
  let asked = 0;
  const post = async (to: string, fields: object) => {
    const body = JSON.stringify(fields);
    const headers = {
      ...bearer(admin),
      'content-type': 'application/json',
      'content-length': `${body.length}`,
      'idempotency-key': `front-attackers-${asked++}`,
    };
    return parsed<{ id: string; value: string }>(to, await ask(front, { method: 'POST', path: to, headers, body }));
  };
  const { id } = await post(path, { name: 'Attackers' });
  const { value } = await post(`${path}/${id}/api_keys`, { name: 'few', limits: { concurrent_requests: slots } });
  return { admin, project: value };
};

/** @param off the protection that is to be off */
export const startSite = async (scene: Scene, isTls: boolean, off: string | undefined): Promise<Site> => {
  const dir = scene.dir();
  const waiting: (() => void)[] = [];
  const { url } = await provider(scene, ({ n, isStream, socket }) => {
    const answer = () => void (socket.destroyed || socket.write(answerOf(n, isStream)));
    if (n >= firstHeld) waiting.push(answer);
    else answer();
  });
  const models = join(dir, 'models.json');
  const sizes = { context_length: 200_000, max_output_length: 64_000 };
  writeFileSync(models, JSON.stringify({ models: [{ id: 'echo', ...sizes, upstream: at(url) }] }));
  const tls = isTls ? certified(dir) : undefined;
  const data = join(dir, 'data');
  const env = {
    DATA_DIR: data,
    ...withoutLimits,
    MODELS_FILE: models,
    TORTURE_KEY: 'torture',
    METRICS_PORT: '0',
    TRUSTED_PROXIES: '127.0.0.1',
    CORS_ORIGINS: [...origins('attackers'), ...origins('clients')].join(','),
    DRAIN_MS: `${drainMs}`,
    LOG_LEVEL: 'info',
    ...tls?.files,
  };
  const faulty = off === undefined ? {} : { CARELESS_FRONT: off, NODE_OPTIONS: `--import=${careless}` };
  const gateway = await startGateway(scene, data, { ...env, ...faulty });
  const errors: string[] = [];
  let rest = '';
  let words = '';
  gateway.child.stderr!.on('data', (piece: Buffer) => {
    const lines = (rest + piece.toString()).split('\n');
    rest = lines.pop()!;
    words = (words + lines.filter((line) => !line.startsWith('{')).join('\n')).slice(-1_000);
    errors.push(...lines.filter((line) => /^\{"level":[56]0/.test(line)));
  });
  const first = JSON.parse(readFileSync(join(data, 'first-run.json'), 'utf8')) as Readonly<Record<string, string>>;
  const front = { port: Number(new URL(gateway.baseUrl).port), ca: tls?.ca };
  const { text: document } = await ask(front, { path: '/v1/openapi.json' });
  const metricsUrl = gateway.metricsUrl!;
  return {
    gateway,
    front,
    listener: { at: front.port, isTls },
    metrics: { at: Number(new URL(metricsUrl).port), isTls: false },
    store: { at: join(data, 'eventstore', 'eventstore.sock'), isTls: false },
    known: {
      projectKey: first.project_api_key!,
      adminKey: first.admin_api_key!,
      projectId: first.project_id!,
      document,
    },
    attackers: await attackersOf(front, env),
    errors,
    words: () => words + rest,
    held: () => waiting.length,
    letGo() {
      for (const answer of waiting.splice(0)) answer();
    },
    async gauge(name) {
      const text = await (await fetch(metricsUrl)).text();
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
    },
  };
};
