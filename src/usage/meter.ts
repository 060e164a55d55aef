import type { Clock, Millis } from '../clock.ts';
import { type Details, microDollarsOf, mostMicroDollarsOf, type Price, type Tokens } from '../domain/usage/charge.ts';
import type { Api, Settlement, UsageSource } from '../domain/usage/usage-events.ts';
import type { Credit, Hold } from './credit.ts';
import { begunCost } from './journal/entry.ts';
import type { Journal } from './journal/journal.ts';

export interface Asked {
  readonly requestId: string;
  readonly model: string;
  readonly organizationId: string;
  readonly projectId: string;
  readonly keyId: string;
  readonly api: Api;
  readonly estimatedTokens: number;
  readonly images: number;
  readonly searches: number;
  readonly maxTokens: number;
}

/** `isPartial`: not all of it was counted by the upstream. */
interface Counted extends Tokens {
  readonly details?: Details;
  readonly isPartial?: true;
}

const noTokens: Tokens = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
};

/** In micro-dollars (contract M.1): caching and service tier are unknown before. */
export const mostOf = (
  price: Price,
  input_tokens: number,
  output_tokens: number,
  images: number,
  searches = 0,
): number => {
  const taken = { ...noTokens, input_tokens, output_tokens, images };
  return mostMicroDollarsOf(price, searches === 0 ? taken : { ...taken, details: { web_search: searches } });
};

const largest = Number.MAX_SAFE_INTEGER;
/** Upstream values need not be counts. */
const whole = (count: number): number => (count > 0 ? Math.min(Math.trunc(count), largest) : 0);

const inputOf = (usage: Tokens): number =>
  usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;

export interface MeterOptions {
  readonly asked: Asked;
  readonly price: Price;
  readonly journal: Pick<Journal, 'begin' | 'settle'>;
  readonly clock: Clock;
  readonly credit: Pick<Credit, 'settled'>;
  readonly hold: Hold | null;
  /** Of a request that ends without an answer; default 499. */
  readonly cutStatus?: () => number;
}

/** Settled once by the first of the answer's end and the request's (contract M.2). */
export class Meter {
  readonly #asked: Asked;
  readonly #price: Price;
  readonly #journal: Pick<Journal, 'settle'>;
  readonly #clock: Clock;
  readonly #hold: Hold | null;
  readonly #credit: Pick<Credit, 'settled'>;
  readonly #cutStatus: () => number;
  readonly #askedAt: Millis;
  #usage: Counted = noTokens;
  #sentTokens = 0;
  #firstTokenMs: number | null = null;
  #settled: Settlement | null = null;

  private constructor({ asked, price, journal, clock, credit, hold, cutStatus }: MeterOptions) {
    this.#asked = asked;
    this.#credit = credit;
    this.#hold = hold;
    this.#cutStatus = cutStatus ?? (() => 499);
    this.#price = price;
    this.#journal = journal;
    this.#clock = clock;
    this.#askedAt = clock.monotonic();
  }

  /** Null if the beginning cannot be written; then the hold is released. */
  static begin(options: MeterOptions): Meter | null {
    const { asked, price, journal, clock, hold } = options;
    const { estimatedTokens, images } = asked;
    const hasBegun = journal.begin({
      request_id: asked.requestId,
      organization_id: asked.organizationId,
      project_id: asked.projectId,
      key_id: asked.keyId,
      model: price.model,
      api: asked.api,
      price: price.id,
      asked_at: clock.wall(),
      input_tokens: estimatedTokens,
      images,
      micro_dollars: begunCost(price, estimatedTokens, images),
    });
    if (hasBegun) return new Meter(options);
    hold?.release();
    return null;
  }

  /** @param sentTokens of output so far, estimated */
  progress(usage: Counted, sentTokens: number): void {
    this.#usage = usage;
    this.#sentTokens = sentTokens;
    if (sentTokens > 0) this.#firstTokenMs ??= this.#clock.monotonic() - this.#askedAt;
  }

  /** Called before the last byte is sent. @param sentTokens if the upstream counts none */
  complete(usage: Counted, sentTokens: number, status = 200): void {
    this.progress(usage, sentTokens);
    const isCounted = usage.isPartial !== true && (usage.output_tokens > 0 || sentTokens === 0);
    this.#settle(status, this.#sentSoFar(isCounted), isCounted);
  }

  /** `status` is the client's. Without any of an answer it costs nothing. */
  fail(status: number): void {
    const hasCome = this.#sentTokens > 0 || inputOf(this.#usage) > 0;
    this.#settle(status, this.#sentSoFar(), false, hasCome);
  }

  /** @param tokens of input and output together */
  enlarge(tokens: number): void {
    if (this.#settled !== null) return;
    const { estimatedTokens, images, searches } = this.#asked;
    this.#hold?.become(mostOf(this.#price, estimatedTokens, tokens - estimatedTokens, images, searches));
  }

  /** Settles it if nothing has. */
  end(): void {
    this.#settle(this.#cutStatus(), this.#sentSoFar(), false);
  }

  #sentSoFar(isCounted = false): number {
    return isCounted ? this.#usage.output_tokens : Math.max(this.#sentTokens, this.#usage.output_tokens);
  }

  #settle(status: number, output: number, isFinal: boolean, isCharged = true): void {
    if (this.#settled !== null) return;
    const { requestId, organizationId, projectId, keyId, api, estimatedTokens, images } = this.#asked;
    const usage = this.#usage;
    const isReported = inputOf(usage) > 0;
    const source: UsageSource = isReported ? (isFinal ? 'final' : 'partial') : 'estimated';
    const counted = {
      input_tokens: isReported ? whole(usage.input_tokens) : isCharged ? estimatedTokens : 0,
      output_tokens: whole(output),
      cache_creation_input_tokens: whole(usage.cache_creation_input_tokens),
      cache_read_input_tokens: whole(usage.cache_read_input_tokens),
      images: isCharged ? images : 0,
    };
    const taken = isCharged && usage.details ? { ...counted, details: usage.details } : counted;
    this.#settled = {
      request_id: requestId,
      organization_id: organizationId,
      project_id: projectId,
      key_id: keyId,
      model: this.#price.model,
      api,
      ...taken,
      usage_source: source,
      price: this.#price.id,
      micro_dollars: microDollarsOf(this.#price, taken),
      status,
      settled_at: this.#clock.wall(),
      duration_ms: Math.round(this.#clock.monotonic() - this.#askedAt),
      first_token_ms: this.#firstTokenMs === null ? null : Math.round(this.#firstTokenMs),
    };
    this.#journal.settle(this.#settled);
    this.#credit.settled(this.#settled);
    this.#hold?.release();
  }
}
