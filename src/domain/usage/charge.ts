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
/** Whole pico-dollars (10⁻¹² US dollars). */
interface Rates {
  readonly exact: Readonly<Record<Kind, bigint>>;
  /** Inexact above 2⁵³. BigInt would take two microseconds per request. */
  readonly quick: Readonly<Record<Kind, number>>;
}

export interface Price {
  /** A hash of model and prices. */
  readonly id: string;
  readonly model: string;
  readonly pricing: Pricing;
  readonly isFree: boolean;
  readonly standard: Rates;
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

const ratesOf = (pico: readonly (readonly [string, bigint])[]): Rates => ({
  exact: Object.fromEntries(pico) as Rates['exact'],
  quick: Object.fromEntries(pico.map(([kind, each]) => [kind, Number(each)])) as Rates['quick'],
});

const declaredRates = (prices: Prices): Rates =>
  ratesOf(Object.entries(everyOf(prices)).map(([kind, decimal]) => [kind, picoOf(decimal)]));

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
    for (const { exact } of all) for (const kind of kinds) if (exact[kind] > most) most = exact[kind];
    return kinds.map((kind) => [kind, most] as const);
  });
  return ratesOf(dearest);
};

export const priceOf = (model: string, declared: Pricing): Price => {
  const usual = usualOf(declared);
  const further = { ...furtherOf(declared), ...tiersOf(declared) };
  const pricing = { ...usual, ...further };
  // Without further prices the id is the same as in older versions.
  const named = [model, ...Object.values(usual), ...(Object.keys(further).length > 0 ? [further] : [])];
  const id = `price_${hash('sha256', JSON.stringify(named)).slice(0, 24)}`;
  const standard = declaredRates({ ...usual, ...furtherOf(declared) });
  const tiers = new Map(Object.entries(pricing.service_tiers ?? {}).map(([name, each]) => [name, declaredRates(each)]));
  const all = [standard, ...tiers.values()];
  const isFree = all.every(({ exact }) => Object.values(exact).every((each) => each === 0n));
  return { id, model, pricing, isFree, standard, tiers, dearest: dearestOf(all) };
};

const wholeOf = (count: number): number => Math.max(0, Math.trunc(count));
const amountOf = (count: number): bigint => BigInt(wholeOf(count));

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
export const chargeLines = ({ pricing, standard, tiers }: Price, taken: Taken): readonly ChargeLine[] => {
  const tier = tierOf(taken);
  const { exact } = tiers.get(tier) ?? standard;
  const decimals = everyOf((tiers.has(tier) ? pricing.service_tiers?.[tier] : undefined) ?? pricing);
  return countsOf(taken)
    .filter(([kind, count]) => count > 0 || !(furtherKinds as readonly Kind[]).includes(kind))
    .map(([kind, count]) => ({ kind, count, price: decimals[kind], pico: amountOf(count) * exact[kind] }));
};

const picoSum = (quick: Rates['quick'], taken: Taken): number => {
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens, images } = taken;
  return (
    quick.prompt * wholeOf(input_tokens) +
    quick.input_cache_write * wholeOf(cache_creation_input_tokens) +
    quick.input_cache_read * wholeOf(cache_read_input_tokens) +
    quick.completion * wholeOf(output_tokens) +
    (isCharged(taken) ? quick.image * wholeOf(images) + quick.request : 0)
  );
};

const microOf = ({ exact, quick }: Rates, taken: Taken): number => {
  const sum = taken.details == null ? picoSum(quick, taken) + inMicro / 2 : Number.POSITIVE_INFINITY;
  if (sum <= Number.MAX_SAFE_INTEGER) return (sum - (sum % inMicro)) / inMicro;
  const pico = countsOf(taken).reduce((all, [kind, count]) => all + amountOf(count) * exact[kind], 0n);
  const micro = (pico + picoInMicro / 2n) / picoInMicro;
  return micro > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(micro);
};

/** The exact sum, rounded once, half up (contract M.4). A service tier without prices costs the standard price. */
export const microDollarsOf = ({ isFree, standard, tiers }: Price, taken: Taken): number =>
  isFree ? 0 : microOf(tiers.get(tierOf(taken)) ?? standard, taken);

/** An upper bound for a request with at most these amounts. */
export const mostMicroDollarsOf = ({ isFree, dearest }: Price, taken: Taken): number =>
  isFree ? 0 : microOf(dearest, taken);
