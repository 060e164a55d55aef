import { hash } from 'node:crypto';

/** What a model costs: plain decimals of US dollars, for one token of each kind, one image and one request (contract A.4). */
export interface Pricing {
  readonly prompt: string;
  readonly completion: string;
  readonly input_cache_read: string;
  readonly input_cache_write: string;
  readonly image: string;
  readonly request: string;
}

/** Tokens of four kinds; `input_tokens` excludes cached ones. */
export interface Tokens {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
}

/** What one request has taken. */
export interface Taken extends Tokens {
  readonly images: number;
}

/** The prices of one model, made ready. */
export interface Price {
  /** The same model at the same prices has the same id, whoever declares it. */
  readonly id: string;
  readonly model: string;
  readonly pricing: Pricing;
  readonly isFree: boolean;
  /** Whole pico-dollars (10⁻¹² US dollars). */
  readonly pico: Readonly<Record<keyof Pricing, bigint>>;
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

export const priceOf = (model: string, declared: Pricing): Price => {
  const { prompt, completion, input_cache_read, input_cache_write, image, request } = declared;
  const all = { prompt, completion, input_cache_read, input_cache_write, image, request };
  const pricing = Object.fromEntries(
    Object.entries(all).map(([kind, decimal]) => [kind, plain(decimal)]),
  ) as unknown as Pricing;
  const pico = Object.fromEntries(Object.entries(pricing).map(([kind, decimal]) => [kind, picoOf(decimal)]));
  const id = `price_${hash('sha256', JSON.stringify([model, ...Object.values(pricing)])).slice(0, 24)}`;
  const isFree = Object.values(pico).every((each) => each === 0n);
  return { id, model, pricing, isFree, pico: pico as Price['pico'] };
};

const amountOf = (count: number): bigint => BigInt(Math.max(0, Math.trunc(count)));

/** One line of a charge: so many of one kind at its price. */
export interface ChargeLine {
  readonly kind: keyof Pricing;
  readonly count: number;
  readonly pico: bigint;
}

/** The kinds that a request is charged for, none of them left out. A request that took no token costs nothing. */
export const chargeLines = ({ pico }: Price, taken: Taken): readonly ChargeLine[] => {
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens, images } = taken;
  const isCharged = input_tokens + output_tokens + cache_creation_input_tokens + cache_read_input_tokens > 0;
  const line = (kind: keyof Pricing, count: number): ChargeLine => ({
    kind,
    count,
    pico: amountOf(count) * pico[kind],
  });
  return [
    line('prompt', input_tokens),
    line('input_cache_write', cache_creation_input_tokens),
    line('input_cache_read', cache_read_input_tokens),
    line('completion', output_tokens),
    line('image', isCharged ? images : 0),
    line('request', isCharged ? 1 : 0),
  ];
};

/** The same sum without BigInt, which costs each request three microseconds. Beyond 2⁵³ it is not exact. */
const picoSum = ({ pico }: Price, taken: Taken): number => {
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens, images } = taken;
  const isCharged = input_tokens + output_tokens + cache_creation_input_tokens + cache_read_input_tokens > 0;
  const of = (price: bigint, count: number): number => Math.max(0, Math.trunc(count)) * Number(price);
  return (
    of(pico.prompt, input_tokens) +
    of(pico.input_cache_write, cache_creation_input_tokens) +
    of(pico.input_cache_read, cache_read_input_tokens) +
    of(pico.completion, output_tokens) +
    (isCharged ? of(pico.image, images) + Number(pico.request) : 0)
  );
};

/**
 * What a request costs, in whole micro-dollars: the exact sum over its kinds, rounded once, half a micro-dollar upwards
 * (contract N20).
 */
export const microDollarsOf = (price: Price, taken: Taken): number => {
  if (price.isFree) return 0;
  const quick = picoSum(price, taken) + inMicro / 2;
  if (quick <= Number.MAX_SAFE_INTEGER) return (quick - (quick % inMicro)) / inMicro;
  const pico = chargeLines(price, taken).reduce((sum, line) => sum + line.pico, 0n);
  const micro = (pico + picoInMicro / 2n) / picoInMicro;
  return micro > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(micro);
};
