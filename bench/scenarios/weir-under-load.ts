import { request } from 'node:http';
import type { KeyPlan } from '../gen/requests.ts';
import { fileFor, seedKeys } from '../peers/seed.ts';
import type { FixedAnswer } from '../peers/uws-same.ts';
import type { Weir } from '../peers/weir.ts';
import type { Crowd } from '../seed/beside.ts';
import type { SimTarget, Stage } from '../stage.ts';
import { Client } from '../truth/ask.ts';

/** The model that the gateway forwards to the simulated one. */
export const forwarded = 'bench-forwarded';
/** The same for clients of chat completions and responses, which pass likewise. */
export const forwardedOpenai = 'bench-forwarded-openai';
/** The model that the gateway simulates itself. */
export const inProcess = 'bench-in-process';

const apiKeyEnv = 'BENCH_UPSTREAM_KEY';

const modelsFile = (sim: SimTarget | null): string => {
  const common = { context_length: 200_000, max_output_length: 64_000 };
  const at = { base_url: `http://127.0.0.1:${sim?.address.port}`, api_key_env: apiKeyEnv, private_network: true };
  const forward = { id: forwarded, ...common, upstream: { kind: 'anthropic', ...at } };
  const openai = { kind: 'openai', ...at, apis: ['chat', 'responses'] };
  const forwardOpenai = { id: forwardedOpenai, ...common, upstream: openai };
  const own = {
    id: inProcess,
    ...common,
    upstream: { kind: 'simulated', output_tokens: 32, output_tokens_variation: 0 },
  };
  return JSON.stringify({ models: sim ? [forward, forwardOpenai, own] : [own] });
};

/** What a gateway is told for it to forward to the simulated model. */
export const upstreamEnv = (stage: Stage, sim: SimTarget | null): Readonly<Record<string, string>> => ({
  MODELS_FILE: fileFor(stage, 'models.json', modelsFile(sim)),
  [apiKeyEnv]: 'bench',
});

/**
 * Enough organizations at tier 5 that the spec's own limits (1,800 a minute and organization) refuse nothing: together
 * they take 90,000 a second. Wider limits by a tiers file would be another server: a record holds as many times as the limit.
 */
const crowd: Crowd = { organizations: 3000, projects: 2, keys: 4, tier: 5 };

/** For loads of up to 30,000 requests a second: the warm-up has used each of the 4,000 keys, so that none is met for the first time. */
export const warmCrowd: Crowd = { ...crowd, organizations: 1000, keys: 2 };

/** For loads of a few thousand requests a second, so that memory is the gateway's and not its keys'. */
export const smallCrowd: Crowd = { ...crowd, organizations: 128 };

export interface LoadedWeir {
  readonly weir: Weir;
  /** Keys of many organizations, so that no window is in the way of a measurement. */
  readonly keys: KeyPlan;
  /** Whether it answers with the headers of its limits: without them there are none to measure. */
  readonly isLimited: boolean;
}

/** A gateway full of keys; `sim` is what it forwards to. */
export const weirUnderLoad = async (
  stage: Stage,
  options: {
    readonly sim?: SimTarget;
    readonly crowds?: readonly Crowd[];
    readonly zipf?: number;
    /** The entry of a build; this one's by default. */
    readonly main?: string;
  } = {},
): Promise<LoadedWeir> => {
  const { sim = null, crowds = [crowd], zipf = 0, main } = options;
  const weir = await stage.weir(upstreamEnv(stage, sim), main);
  const file = await seedKeys(stage, weir, crowds);
  return { weir, keys: { keys: { file }, zipf }, isLimited: await isLimited(weir) };
};

/** The key of the organization of the first start: its 60 a minute are gone at once. */
export const refusedKeys = ({ keys }: Weir): KeyPlan => keys;

export const isLimited = async (weir: Weir): Promise<boolean> => {
  const client = new Client(weir.address);
  const [key = ''] = weir.keys.keys as readonly string[];
  try {
    return 'x-ratelimit-limit-requests' in (await client.headers({ key, project: '' }));
  } finally {
    client.close();
  }
};

/** What every uWebSockets.js writes of itself. */
const written = /^(date|uwebsockets|content-length)$/i;

/** The lines of a handler, from the value of its first header on. */
const linesOf = (raw: readonly string[]): string => {
  const lines: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    if (!written.test(raw[i]!)) lines.push(lines.length === 0 ? raw[i + 1]! : `${raw[i]}: ${raw[i + 1]}`);
  }
  return lines.join('\r\n');
};

/** One answer, for peers that are to answer with the same bytes. @throws Error for any status but 200 */
export const answerOf = (weir: Weir, path: string, key: string): Promise<FixedAnswer> =>
  new Promise((resolve, reject) => {
    const { host, port } = weir.address;
    const asked = request({ host, port, path, headers: { authorization: `Bearer ${key}` } }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => {
        const { rawHeaders, statusCode } = response;
        if (statusCode === 200) resolve({ lines: linesOf(rawHeaders), body: Buffer.concat(pieces).toString() });
        else reject(new Error(`GET ${path} was answered with ${response.statusCode}.`));
      });
    });
    asked.on('error', reject);
    asked.end();
  });
