import type { Clock, Millis } from '../../clock.ts';
import type { Watch, WatchedHead } from '../../http/exchange/watch.ts';
import type { Meter, Metered, Watched } from '../../http/route.ts';
import type { Endpoint } from '../../http/routing/endpoint.ts';
import type { TraceContext } from '../../http/trace-context.ts';
import { inputOf, noTokens, type Usage } from '../../tokens.ts';

/** An upstream may report anything. */
const whole = (count: number): number => (count > 0 ? Math.min(Math.trunc(count), Number.MAX_SAFE_INTEGER) : 0);

interface Whose {
  readonly id: string;
}

export interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cacheCreation: number;
  readonly cacheRead: number;
}

export interface Asked {
  readonly metered: Metered;
  /** The client's status; 499 if it left before the end. */
  readonly status: number;
  readonly durationMs: Millis;
  readonly firstPieceMs: Millis | undefined;
  readonly tokens: Tokens;
}

/** Contains no client input but known routes, keys and models. */
export interface Finished {
  readonly requestId: string;
  readonly method: string;
  readonly target: Endpoint | undefined;
  /** 499 if the connection ended before the answer began. */
  readonly status: number;
  readonly durationMs: Millis;
  /** Of the credential, valid or not; undefined if it is unknown. */
  readonly keyId: string | undefined;
  /** Undefined unless the request reached a declared model. */
  readonly model: string | undefined;
  readonly asked: Asked | undefined;
  /** The gateway's own time until the first byte of the answer; undefined if no upstream has answered. */
  readonly overheadMs: Millis | undefined;
}

export interface Spans {
  asks(metered: Metered): void;
  asked(asked: Asked): void;
  ends(finished: Finished): void;
  readonly trace: TraceContext;
}

export interface Observers {
  readonly clock: Clock;
  readonly finished: readonly ((request: Finished) => void)[];
  readonly spansOf?: ((head: WatchedHead, target: Endpoint | undefined) => Spans) | undefined;
}

/** As in nginx: the client has closed the connection. */
const clientGone = 499;

/** Measures an upstream's answer around the meter of its account. */
class Measured implements Meter, Asked {
  readonly metered: Metered;
  readonly askedAt: Millis;
  firstPieceAt: Millis | undefined;
  completeAt: Millis | undefined;
  status = clientGone;
  readonly #meter: Meter;
  readonly #clock: Clock;
  readonly #spans: Spans | undefined;
  #usage: Usage | undefined;
  #sentTokens = 0;
  #hasCompleted = false;
  #hasFailed = false;

  constructor(metered: Metered, meter: Meter, clock: Clock, spans: Spans | undefined) {
    this.metered = metered;
    this.#meter = meter;
    this.#clock = clock;
    this.#spans = spans;
    this.askedAt = clock.monotonic();
  }

  progress(usage: Usage, sentTokens: number): void {
    this.#meter.progress(usage, sentTokens);
    if (this.completeAt !== undefined) return;
    this.firstPieceAt ??= this.#clock.monotonic();
    this.#usage = usage;
    this.#sentTokens = sentTokens;
  }

  complete(usage: Usage, sentTokens: number, status = 200): void {
    this.#meter.complete(usage, sentTokens, status);
    if (this.completeAt !== undefined) return;
    this.#usage = usage;
    this.#sentTokens = sentTokens;
    this.#hasCompleted = true;
    this.#end(status);
  }

  fail(status: number): void {
    this.#meter.fail(status);
    if (this.completeAt !== undefined) return;
    this.#hasFailed = true;
    this.#end(status);
  }

  get written(): Promise<unknown> | undefined {
    return this.#meter.written;
  }

  #end(status: number): void {
    this.status = status;
    this.completeAt = this.#clock.monotonic();
    // The upstream's span ends with its answer, that of the request when the client has received it.
    this.#spans?.asked(this);
  }

  /** The request is over: measures no more of the answer. */
  leave(now: Millis): void {
    this.completeAt ??= now;
  }

  get durationMs(): Millis {
    return this.completeAt! - this.askedAt;
  }

  get firstPieceMs(): Millis | undefined {
    return this.firstPieceAt === undefined ? undefined : this.firstPieceAt - this.askedAt;
  }

  /** When the first part of an answer came, if any did. */
  get cameAt(): Millis | undefined {
    return this.#usage === undefined ? undefined : (this.firstPieceAt ?? this.completeAt);
  }

  /** As they are charged: unreported tokens are estimated; a failure before any answer costs nothing. */
  get tokens(): Tokens {
    const usage = this.#usage ?? noTokens;
    const sent = this.#sentTokens;
    const isReported = inputOf(usage) > 0;
    const isFree = this.#hasFailed && !isReported && sent === 0;
    const isCounted = this.#hasCompleted && usage.isPartial !== true && (usage.output_tokens > 0 || sent === 0);
    return {
      input: isReported ? whole(usage.input_tokens) : isFree ? 0 : this.metered.estimatedTokens,
      output: whole(isCounted ? usage.output_tokens : Math.max(sent, usage.output_tokens)),
      cacheCreation: whole(usage.cache_creation_input_tokens),
      cacheRead: whole(usage.cache_read_input_tokens),
    };
  }
}

class Observation implements Watched<Whose>, Finished {
  readonly requestId: string;
  readonly method: string;
  readonly target: Endpoint | undefined;
  status = clientGone;
  durationMs: Millis = 0;
  keyId: string | undefined;
  model: string | undefined;
  asked: Measured | undefined;
  readonly #observers: Observers;
  readonly #spans: Spans | undefined;
  readonly #beganAt: Millis;
  /** When the headers were accepted, if a body was awaited after that. */
  #waitsAt: Millis | undefined;
  #arrivedAt: Millis;
  #answeredAt: Millis | undefined;

  constructor(observers: Observers, head: WatchedHead, target: Endpoint | undefined) {
    this.#observers = observers;
    this.requestId = head.requestId;
    this.method = head.method;
    this.target = target;
    this.#beganAt = observers.clock.monotonic();
    this.#arrivedAt = this.#beganAt;
    this.#spans = observers.spansOf?.(head, target);
  }

  get trace(): TraceContext | undefined {
    return this.#spans?.trace;
  }

  waits(now: Millis): void {
    this.#waitsAt = now;
  }

  arrived(): void {
    if (this.#waitsAt !== undefined) this.#arrivedAt = this.#observers.clock.monotonic();
  }

  aims(model: string): void {
    this.model = model;
  }

  asks(metered: Metered, meter: Meter): Meter {
    this.#spans?.asks(metered);
    this.asked = new Measured(metered, meter, this.#observers.clock, this.#spans);
    return this.asked;
  }

  answers(status: number): void {
    this.status = status;
    if (this.asked !== undefined) this.#answeredAt = this.#observers.clock.monotonic();
  }

  /** Without the client's upload and download, and without the upstream. */
  get overheadMs(): Millis | undefined {
    const { asked } = this;
    const cameAt = asked?.cameAt;
    if (asked === undefined || cameAt === undefined || this.#answeredAt === undefined) return undefined;
    const judgedMs = this.#waitsAt === undefined ? 0 : this.#waitsAt - this.#beganAt;
    // The answer to a slow upstream begins before it.
    return judgedMs + (asked.askedAt - this.#arrivedAt) + Math.max(0, this.#answeredAt - cameAt);
  }

  ends(principal: Whose | undefined): void {
    const { finished, clock } = this.#observers;
    const now = clock.monotonic();
    this.durationMs = now - this.#beganAt;
    this.keyId = principal?.id;
    this.asked?.leave(now);
    for (const tell of finished) tell(this);
    this.#spans?.ends(this);
  }
}

export const watchOf = (observers: Observers): Watch<Whose> => ({
  begin: (head, target) => new Observation(observers, head, target),
});
