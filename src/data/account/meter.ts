import type { Api } from '../../apis.ts';
import type { Clock, Millis } from '../../clock.ts';
import { microDollarsOf, mostMicroDollarsOf, type Price } from '../../domain/usage/charge.ts';
import type { Settlement, UsageSource } from '../../domain/usage/usage-events.ts';
import type { Cut } from '../../http/route.ts';
import { inputOf, noTokens, type Usage } from '../../tokens.ts';
import type { Credit, CreditHold } from './credit.ts';
import { begunCost } from './journal/entry.ts';
import type { GroupCommit } from './journal/group-commit.ts';

export interface Opening {
  readonly requestId: string;
  readonly model: string;
  /** The alias that the client sent for it, if any. */
  readonly requestedModel?: string | undefined;
  readonly organizationId: string;
  readonly projectId: string;
  readonly keyId: string;
  /** The first key of its chain of rotations. */
  readonly line: string;
  readonly api: Api;
  readonly estimatedTokens: number;
  readonly images: number;
  readonly searches: number;
  readonly maxTokens: number;
  /** The same, or of an answer without a maximum the model's longest. */
  readonly longest: number;
  /** Absent if it can be sent with no other maximum. */
  readonly cut?: Cut | undefined;
}

/** In micro-dollars (contract M.1): caching and service tier are unknown before. */
export const mostOf = (
  price: Price,
  input_tokens: number,
  output_tokens: number,
  images: number,
  searches = 0,
): number => {
  const details = searches === 0 ? undefined : { web_search: searches };
  // Member by member: a spread takes five times as long.
  const taken = {
    input_tokens,
    output_tokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    images,
    details,
  };
  return mostMicroDollarsOf(price, taken);
};

const largest = Number.MAX_SAFE_INTEGER;
/** Upstream values need not be counts. */
const whole = (count: number): number => (count > 0 ? Math.min(Math.trunc(count), largest) : 0);

export interface MeterOptions {
  readonly asked: Opening;
  readonly price: Price;
  readonly journal: Pick<GroupCommit, 'begin' | 'settle'>;
  readonly clock: Clock;
  readonly credit: Pick<Credit, 'settled'>;
  readonly hold: Pick<CreditHold, 'grow' | 'release'> | null;
  /** Tokens that its request is to be sent with; default null, as it is. */
  readonly maximum?: number | null;
  /** Of a request that ends without an answer; default 499. */
  readonly cutStatus?: () => number;
}

/** Settled once by the first of the answer's end and the request's (contract M.2). */
export class Meter {
  /** Tokens of each answer that the request is to be sent with; null as it is. */
  readonly maximum: number | null;
  readonly #asked: Opening;
  readonly #price: Price;
  readonly #journal: Pick<GroupCommit, 'settle'>;
  readonly #clock: Clock;
  readonly #hold: MeterOptions['hold'];
  readonly #credit: Pick<Credit, 'settled'>;
  readonly #cutStatus: () => number;
  readonly #askedAt: Millis;
  #usage: Usage = noTokens;
  #sentTokens = 0;
  #firstTokenMs: number | null = null;
  #written: Promise<boolean>;
  #isOpen = false;
  #isOver = false;

  /** Opens the account. Its request may be given to its upstream once `opened` says so. */
  constructor({ asked, price, journal, clock, credit, hold, maximum, cutStatus }: MeterOptions) {
    this.maximum = maximum ?? null;
    this.#asked = asked;
    this.#credit = credit;
    this.#hold = hold;
    this.#cutStatus = cutStatus ?? (() => 499);
    this.#price = price;
    this.#journal = journal;
    this.#clock = clock;
    this.#askedAt = clock.monotonic();
    const { estimatedTokens, images, requestedModel: requested_model } = asked;
    this.#written = journal.begin({
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
      requested_model,
    });
  }

  /** Resolves to whether the beginning is written. If not, nothing is held or settled for the request any more. */
  opened(): Promise<boolean> {
    return this.#written.then((isWritten) => {
      this.#isOpen = isWritten;
      if (!isWritten) {
        this.#isOver = true;
        this.#hold?.release();
      }
      return isWritten;
    });
  }

  /** Resolves once all lines of the account so far are written. */
  get written(): Promise<unknown> {
    return this.#written;
  }

  /** @param sentTokens of output so far, estimated */
  progress(usage: Usage, sentTokens: number): void {
    this.#usage = usage;
    this.#sentTokens = sentTokens;
    if (sentTokens > 0) this.#firstTokenMs ??= this.#clock.monotonic() - this.#askedAt;
  }

  /** Called before the last byte is sent. @param sentTokens if the upstream counts none */
  complete(usage: Usage, sentTokens: number, status = 200): void {
    this.progress(usage, sentTokens);
    const isUsage = usage.isPartial !== true && (usage.output_tokens > 0 || sentTokens === 0);
    this.#settle(status, this.#sentSoFar(isUsage), isUsage);
  }

  /** `status` is the client's. Without any of an answer it costs nothing. */
  fail(status: number): void {
    const hasCome = this.#sentTokens > 0 || inputOf(this.#usage) > 0;
    this.#settle(status, this.#sentSoFar(), false, hasCome);
  }

  /** @param tokens of input and output together */
  enlarge(tokens: number): void {
    if (this.#isOver) return;
    const { estimatedTokens, images, searches } = this.#asked;
    this.#hold?.grow(mostOf(this.#price, estimatedTokens, tokens - estimatedTokens, images, searches));
  }

  /** Settles it if nothing has. A request that was never given to its upstream costs nothing. */
  end(): void {
    this.#settle(this.#cutStatus(), this.#sentSoFar(), false, this.#isOpen);
  }

  #sentSoFar(isUsage = false): number {
    return isUsage ? this.#usage.output_tokens : Math.max(this.#sentTokens, this.#usage.output_tokens);
  }

  #settle(status: number, output: number, isFinal: boolean, isCharged = true): void {
    if (this.#isOver) return;
    const { requestId, organizationId, projectId, keyId, api, estimatedTokens, images, requestedModel } = this.#asked;
    const usage = this.#usage;
    const isReported = inputOf(usage) > 0;
    const source: UsageSource = isReported ? (isFinal ? 'final' : 'partial') : 'estimated';
    this.#isOver = true;
    const taken = {
      input_tokens: isReported ? whole(usage.input_tokens) : isCharged ? estimatedTokens : 0,
      output_tokens: whole(output),
      cache_creation_input_tokens: whole(usage.cache_creation_input_tokens),
      cache_read_input_tokens: whole(usage.cache_read_input_tokens),
      images: isCharged ? images : 0,
      details: isCharged ? usage.details : undefined,
    };
    const thought = whole(Math.min(usage.reasoning_tokens ?? 0, output));
    // Member by member: all settlements have one shape.
    const settlement: Settlement = {
      request_id: requestId,
      organization_id: organizationId,
      project_id: projectId,
      key_id: keyId,
      model: this.#price.model,
      api,
      input_tokens: taken.input_tokens,
      output_tokens: taken.output_tokens,
      cache_creation_input_tokens: taken.cache_creation_input_tokens,
      cache_read_input_tokens: taken.cache_read_input_tokens,
      images: taken.images,
      usage_source: source,
      price: this.#price.id,
      micro_dollars: microDollarsOf(this.#price, taken),
      status,
      settled_at: this.#clock.wall(),
      duration_ms: Math.round(this.#clock.monotonic() - this.#askedAt),
      first_token_ms: this.#firstTokenMs === null ? null : Math.round(this.#firstTokenMs),
      details: taken.details,
      requested_model: requestedModel,
      reasoning_tokens: thought > 0 ? thought : undefined,
    };
    this.#written = this.#journal.settle(settlement);
    this.#credit.settled(settlement, this.#asked.line);
    this.#hold?.release();
  }
}
