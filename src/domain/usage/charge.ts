import { hash } from 'node:crypto';

/** Plain decimals of US dollars, for one token of each kind, one image and one request (contract A.4). */
interface UsualPrices {
  readonly prompt: string;
  readonly completion: string;
  readonly input_cache_read: string;
  readonly input_cache_write: string;
  readonly image: string;
  readonly request: string;
}

/** What some upstreams bill at other prices, or beside tokens: for one token, or one search. Absent where nobody has said it. */
const furtherKinds = ['input_cache_write_long', 'input_audio', 'output_audio', 'web_search', 'file_search'] as const;
type Further = (typeof furtherKinds)[number];
export type Prices = UsualPrices & { readonly [kind in Further]?: string };

/** What a model costs, and what it costs where its upstream serves a request in another way than the usual one. */
export type Pricing = Prices & { readonly service_tiers?: Readonly<Record<string, Prices>> };

/** Tokens of four kinds; `input_tokens` excludes cached ones. */
export interface Tokens {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
}

/** What of a request may have a price of its own (contract M.4). None of it is 0. */
export type Details = {
  /** How the upstream has served it, in its own word, where that is not the usual way. */
  readonly service_tier?: string;
  /** `input_cache_write_long` are some of the tokens that went into a cache, the audio some of the others. */
} & { readonly [kind in Further]?: number };

/** What one request has taken. */
export interface Taken extends Tokens {
  readonly images: number;
  readonly details?: Details | null;
}

type Kind = keyof UsualPrices | Further;
type Rates = Readonly<Record<Kind, bigint>>;

/** The prices of one model, made ready. */
export interface Price {
  /** The same model at the same prices has the same id, whoever declares it. */
  readonly id: string;
  readonly model: string;
  readonly pricing: Pricing;
  readonly isFree: boolean;
  /** Whole pico-dollars (10⁻¹² US dollars). */
  readonly pico: Rates;
  /** The same of each service tier that has prices. */
  readonly tiers: ReadonlyMap<string, Rates>;
  /** The most that one of each may cost, however it is served: all input costs `prompt`, all output `completion`. */
  readonly dearest: Rates;
}

const decimals = 12;
const inMicro = 1_000_000;
const picoInMicro = BigInt(inMicro);

/** A plain decimal of at most 12 decimals in whole units of 10⁻¹². */
const picoOf = (decimal: string): bigint => {
  const [whole = '0', part = ''] = decimal.split('.');
  return BigInt(whole + part.padEnd(decimals, '0'));
};

/** The same number in the same words: without zeros at its end. */
const plain = (decimal: string): string =>
  decimal.includes('.') ? decimal.replace(/0+$/, '').replace(/\.$/, '') : decimal;

const usualOf = ({ prompt, completion, input_cache_read, input_cache_write, image, request }: Prices): UsualPrices => ({
  prompt: plain(prompt),
  completion: plain(completion),
  input_cache_read: plain(input_cache_read),
  input_cache_write: plain(input_cache_write),
  image: plain(image),
  request: plain(request),
});

const furtherOf = (prices: Prices): { readonly [kind in Further]?: string } =>
  Object.fromEntries(
    furtherKinds.flatMap((kind) => {
      const decimal = prices[kind];
      return decimal === undefined ? [] : [[kind, plain(decimal)]];
    }),
  );

const tiersOf = ({ service_tiers: tiers }: Pricing): { readonly service_tiers?: Readonly<Record<string, Prices>> } => {
  const names = Object.keys(tiers ?? {}).sort();
  if (names.length === 0) return {};
  const each = names.map((name) => [name, { ...usualOf(tiers![name]!), ...furtherOf(tiers![name]!) }]);
  return { service_tiers: Object.fromEntries(each) };
};

/** Each kind with the price that it has, or that it falls back to: nobody pays more than for what it is one of. */
const everyOf = (prices: Prices): Readonly<Record<Kind, string>> => ({
  input_cache_write_long: prices.input_cache_write,
  input_audio: prices.prompt,
  output_audio: prices.completion,
  web_search: '0',
  file_search: '0',
  ...prices,
});

const ratesOf = (prices: Prices): Rates =>
  Object.fromEntries(Object.entries(everyOf(prices)).map(([kind, decimal]) => [kind, picoOf(decimal)])) as Rates;

const greatest = (all: readonly Rates[], ...kinds: readonly Kind[]): bigint => {
  let most = 0n;
  for (const rates of all) for (const kind of kinds) if (rates[kind] > most) most = rates[kind];
  return most;
};

const dearestOf = (all: readonly Rates[]): Rates => {
  const input = greatest(
    all,
    'prompt',
    'input_cache_read',
    'input_cache_write',
    'input_cache_write_long',
    'input_audio',
  );
  const output = greatest(all, 'completion', 'output_audio');
  const search = greatest(all, 'web_search', 'file_search');
  return {
    prompt: input,
    input_cache_read: input,
    input_cache_write: input,
    input_cache_write_long: input,
    input_audio: input,
    completion: output,
    output_audio: output,
    image: greatest(all, 'image'),
    request: greatest(all, 'request'),
    web_search: search,
    file_search: search,
  };
};

export const priceOf = (model: string, declared: Pricing): Price => {
  const usual = usualOf(declared);
  const further = { ...furtherOf(declared), ...tiersOf(declared) };
  const standard = { ...usual, ...furtherOf(declared) };
  const pricing = { ...usual, ...further };
  // Prices from before there were further ones keep their ids.
  const named = [model, ...Object.values(usual), ...(Object.keys(further).length > 0 ? [further] : [])];
  const id = `price_${hash('sha256', JSON.stringify(named)).slice(0, 24)}`;
  const pico = ratesOf(standard);
  const tiers = new Map(Object.entries(pricing.service_tiers ?? {}).map(([name, each]) => [name, ratesOf(each)]));
  const all = [pico, ...tiers.values()];
  const isFree = all.every((rates) => Object.values(rates).every((each) => each === 0n));
  return { id, model, pricing, isFree, pico, tiers, dearest: dearestOf(all) };
};

const amountOf = (count: number): bigint => BigInt(Math.max(0, Math.trunc(count)));

/** One line of a charge: so many of one kind at its price. */
export interface ChargeLine {
  readonly kind: Kind;
  readonly count: number;
  /** A plain decimal. */
  readonly price: string;
  readonly pico: bigint;
}

const isCharged = ({ input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens }: Tokens) =>
  input_tokens + output_tokens + cache_creation_input_tokens + cache_read_input_tokens > 0;

/** So many of each kind, no token in two of them. A request that took no token costs nothing. */
const countsOf = (taken: Taken): readonly (readonly [Kind, number])[] => {
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens, images } = taken;
  const { input_cache_write_long: long = 0, input_audio = 0, output_audio = 0 } = taken.details ?? {};
  const { web_search = 0, file_search = 0 } = taken.details ?? {};
  const once = isCharged(taken) ? 1 : 0;
  return [
    ['prompt', input_tokens - input_audio],
    ['input_audio', input_audio],
    ['input_cache_write', cache_creation_input_tokens - long],
    ['input_cache_write_long', long],
    ['input_cache_read', cache_read_input_tokens],
    ['completion', output_tokens - output_audio],
    ['output_audio', output_audio],
    ['image', images * once],
    ['request', once],
    ['web_search', web_search * once],
    ['file_search', file_search * once],
  ];
};

const tierOf = ({ details }: Taken): string => details?.service_tier ?? '';

/** The kinds that a request is charged for; of those that most requests have none of, the ones that it has. */
export const chargeLines = ({ pricing, pico, tiers }: Price, taken: Taken): readonly ChargeLine[] => {
  const tier = tierOf(taken);
  const rates = tiers.get(tier) ?? pico;
  const decimals = everyOf((tiers.has(tier) ? pricing.service_tiers?.[tier] : undefined) ?? pricing);
  return countsOf(taken)
    .filter(([kind, count]) => count > 0 || !(furtherKinds as readonly Kind[]).includes(kind))
    .map(([kind, count]) => ({ kind, count, price: decimals[kind], pico: amountOf(count) * rates[kind] }));
};

/** The same sum without BigInt, which costs each request three microseconds. Beyond 2⁵³ it is not exact. */
const picoSum = (pico: Rates, taken: Taken): number => {
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens, images } = taken;
  const of = (price: bigint, count: number): number => Math.max(0, Math.trunc(count)) * Number(price);
  return (
    of(pico.prompt, input_tokens) +
    of(pico.input_cache_write, cache_creation_input_tokens) +
    of(pico.input_cache_read, cache_read_input_tokens) +
    of(pico.completion, output_tokens) +
    (isCharged(taken) ? of(pico.image, images) + Number(pico.request) : 0)
  );
};

const microOf = (rates: Rates, taken: Taken): number => {
  const quick = taken.details == null ? picoSum(rates, taken) + inMicro / 2 : Number.POSITIVE_INFINITY;
  if (quick <= Number.MAX_SAFE_INTEGER) return (quick - (quick % inMicro)) / inMicro;
  const pico = countsOf(taken).reduce((sum, [kind, count]) => sum + amountOf(count) * rates[kind], 0n);
  const micro = (pico + picoInMicro / 2n) / picoInMicro;
  return micro > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(micro);
};

/**
 * What a request costs, in whole micro-dollars: the exact sum over its kinds, rounded once, half a micro-dollar upwards
 * (contract M.4). A service tier that has no prices costs what the usual one does.
 */
export const microDollarsOf = ({ isFree, pico, tiers }: Price, taken: Taken): number =>
  isFree ? 0 : microOf(tiers.get(tierOf(taken)) ?? pico, taken);

/** The most that a request costs which takes no more than this, of whichever kinds and however it is served. */
export const mostMicroDollarsOf = ({ isFree, dearest }: Price, taken: Taken): number =>
  isFree ? 0 : microOf(dearest, taken);
