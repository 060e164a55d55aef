import { publicUrlFault } from './base-url.ts';
import { caFileFault } from './ca-file.ts';

export interface Fault {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;

/** Faults across the upstreams of a model. Paths begin at the model. */
export const upstreamFaults = (model: unknown, env: Environment): readonly Fault[] => {
  if (typeof model !== 'object' || model === null) return [];
  const one = field(model, 'upstream');
  const several = field(model, 'upstreams');
  const faults: Fault[] = one === undefined ? [] : faultsOf(one, env, ['upstream']);
  if (one === undefined && several === undefined) {
    faults.push({ path: ['upstream'], message: 'a model has "upstream", or "upstreams" with a list of them' });
  }
  if (one !== undefined && several !== undefined) {
    faults.push({ path: ['upstreams'], message: 'not beside "upstream": a model has one of the two' });
  }
  const all = Array.isArray(several) ? several : [one];
  if (all.some(isOfEmbeddings) && field(model, 'passthrough') === false)
    faults.push({ path: ['passthrough'], message: 'requests for embeddings only pass' });
  if (!Array.isArray(several)) return faults;
  if (several.some(isOfEmbeddings) && !several.every(isOfEmbeddings))
    faults.push({ path: ['upstreams'], message: 'all of them are for embeddings, or none is' });
  for (const [index, each] of several.entries()) {
    const path = ['upstreams', index];
    faults.push(...faultsOf(each, env, path), ...besideOthers(several.slice(0, index), each, path));
  }
  return faults;
};

const isOfEmbeddings = (upstream: unknown): boolean => {
  const apis = field(upstream, 'apis');
  return Array.isArray(apis) && apis.includes('embeddings');
};

const remoteKinds: ReadonlySet<unknown> = new Set(['anthropic', 'openai']);

const faultsOf = (upstream: unknown, env: Environment, path: readonly PropertyKey[]): Fault[] => {
  if (!remoteKinds.has(field(upstream, 'kind'))) return [];
  const faults: Fault[] = [];
  const keyFault = apiKeyFault(field(upstream, 'api_key_env'), env);
  if (keyFault !== null) faults.push({ path: [...path, 'api_key_env'], message: keyFault });
  const url = field(upstream, 'base_url');
  const caFault = caFileFault(field(upstream, 'ca_file'), url);
  if (caFault !== null) faults.push({ path: [...path, 'ca_file'], message: caFault });
  if (field(upstream, 'private_network') !== true && typeof url === 'string' && URL.canParse(url)) {
    const urlFault = publicUrlFault(url);
    if (urlFault !== null) faults.push({ path: [...path, 'base_url'], message: urlFault });
  }
  return faults;
};

const besideOthers = (before: readonly unknown[], upstream: unknown, path: readonly PropertyKey[]): Fault[] => {
  const name = field(upstream, 'name');
  const namesake = name === undefined ? -1 : before.findIndex((other) => field(other, 'name') === name);
  return namesake < 0 ? [] : [{ path: [...path, 'name'], message: `the name of upstreams[${namesake}] too` }];
};
/** The value is repeated only if it is short capital words: an operator may have put the key itself there. */
const looksLikeName = /^([A-Z]{1,12}|[A-Z][A-Z0-9]{0,11}(_[A-Z0-9]{1,12})+)$/;

const apiKeyFault = (name: unknown, env: Environment): string | null => {
  if (typeof name !== 'string') return null;
  const key = Object.hasOwn(env, name) ? env[name] : undefined;
  const variable = looksLikeName.test(name) ? `environment variable ${name}` : 'environment variable of that name';
  if (key === undefined || key === '') return `the ${variable} is not set`;
  return /^[\x21-\x7e]+$/.test(key) ? null : `the ${variable} holds characters that no API key has`;
};
