import { hash } from 'node:crypto';
import type { Details, Tokens } from '../../tokens.ts';

/** Decimal US dollars per token, image and request (contract A.4). */
const usualKinds = ['prompt', 'completion', 'input_cache_read', 'input_cache_write', 'image', 'request'] as const;
type Usual = (typeof usualKinds)[number];
type UsualPrices = { readonly [kind in Usual]: string };

/** Kinds that some upstreams bill separately, per token or search; absent if not declared. */
const furtherKinds = ['input_cache_write_long', 'input_audio', 'output_audio', 'web_search', 'file_search'] as const;
type Further = (typeof furtherKinds)[number];
export type Prices = UsualPrices & { readonly [kind in Further]?: string };

/** With the prices of service tiers that differ. */
export type Pricing = Prices & { readonly service_tiers?: Readonly<Record<string, Prices>> };

export interface Taken extends Tokens {
  readonly images: number;
  readonly details?: Details | null | undefined;
}

type Kind = Usual | Further;
type Rates = Readonly<Record<Kind, bigint>>;

export interface Price {
  /** A hash of model and prices. */
  readonly id: string;
  readonly model: string;
  readonly pricing: Pricing;
  readonly isFree: boolean;
  /** Whole pico-dollars (10⁻¹² US dollars). */
  readonly pico: Rates;
  /** By service tier. */
  readonly tiers: ReadonlyMap<string, Rates>;
  /** Upper bounds of any request: the most expensive input, output and so on. */
  readonly dearest: Rates;
}

const decimals = 12;
const inMicro = 1_000_000;
const picoInMicro = BigInt(inMicro);

/** A decimal with at most 12 places, in units of 10⁻¹². */
const picoOf = (decimal: string): bigint => {
  const [whole = '0', part = ''] = decimal.split('.');
  return BigInt(whole + part.padEnd(decimals, '0'));
};

const plain = (decimal: string): string =>
  decimal.includes('.') ? decimal.replace(/0+$/, '').replace(/\.$/, '') : decimal;

const usualOf = (prices: Prices): UsualPrices =>
  Object.fromEntries(usualKinds.map((kind) => [kind, plain(prices[kind])])) as UsualPrices;

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

/** With the defaults of undeclared kinds. */
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

/** Kinds that the same tokens, searches or images may be charged as. */
const alternatives: readonly (readonly Kind[])[] = [
  ['prompt', 'input_cache_read', 'input_cache_write', 'input_cache_write_long', 'input_audio'],
  ['completion', 'output_audio'],
  ['web_search', 'file_search'],
  ['image'],
  ['request'],
];

const dearestOf = (all: readonly Rates[]): Rates => {
  const dearest = alternatives.flatMap((kinds) => {
    let most = 0n;
    for (const rates of all) for (const kind of kinds) if (rates[kind] > most) most = rates[kind];
    return kinds.map((kind) => [kind, most]);
  });
  return Object.fromEntries(dearest) as Rates;
};

export const priceOf = (model: string, declared: Pricing): Price => {
  const usual = usualOf(declared);
  const further = { ...furtherOf(declared), ...tiersOf(declared) };
  const standard = { ...usual, ...furtherOf(declared) };
  const pricing = { ...usual, ...further };
  // Without further prices the id is the same as in older versions.
  const named = [model, ...Object.values(usual), ...(Object.keys(further).length > 0 ? [further] : [])];
  const id = `price_${hash('sha256', JSON.stringify(named)).slice(0, 24)}`;
  const pico = ratesOf(standard);
  const tiers = new Map(Object.entries(pricing.service_tiers ?? {}).map(([name, each]) => [name, ratesOf(each)]));
  const all = [pico, ...tiers.values()];
  const isFree = all.every((rates) => Object.values(rates).every((each) => each === 0n));
  return { id, model, pricing, isFree, pico, tiers, dearest: dearestOf(all) };
};

const amountOf = (count: number): bigint => BigInt(Math.max(0, Math.trunc(count)));

export interface ChargeLine {
  readonly kind: Kind;
  readonly count: number;
  readonly price: string;
  readonly pico: bigint;
}

const isCharged = ({ input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens }: Tokens) =>
  input_tokens + output_tokens + cache_creation_input_tokens + cache_read_input_tokens > 0;

/** Disjoint kinds. A request without tokens is free. */
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

/** Lines of the further kinds are left out if they are zero. */
export const chargeLines = ({ pricing, pico, tiers }: Price, taken: Taken): readonly ChargeLine[] => {
  const tier = tierOf(taken);
  const rates = tiers.get(tier) ?? pico;
  const decimals = everyOf((tiers.has(tier) ? pricing.service_tiers?.[tier] : undefined) ?? pricing);
  return countsOf(taken)
    .filter(([kind, count]) => count > 0 || !(furtherKinds as readonly Kind[]).includes(kind))
    .map(([kind, count]) => ({ kind, count, price: decimals[kind], pico: amountOf(count) * rates[kind] }));
};

/** Without BigInt, which takes three microseconds per request. Inexact above 2⁵³. */
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

/** The exact sum, rounded once, half up (contract M.4). A service tier without prices costs the standard price. */
export const microDollarsOf = ({ isFree, pico, tiers }: Price, taken: Taken): number =>
  isFree ? 0 : microOf(tiers.get(tierOf(taken)) ?? pico, taken);

/** An upper bound for a request with at most these amounts. */
export const mostMicroDollarsOf = ({ isFree, dearest }: Price, taken: Taken): number =>
  isFree ? 0 : microOf(dearest, taken);
