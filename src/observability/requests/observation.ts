import type { Clock, Millis } from '../../clock.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import type { Meter, Metered, Watched } from '../../http/route.ts';
import type { TraceContext } from '../../http/trace-context.ts';
import type { Watch, WatchedHead } from '../../http/watch.ts';

type Usage = Parameters<Meter['progress']>[0];

const noUsage: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
};

/** What an upstream says need not be a count. */
const whole = (count: number): number => (count > 0 ? Math.min(Math.trunc(count), Number.MAX_SAFE_INTEGER) : 0);

/** Whose credential a request had. */
interface Whose {
  readonly id: string;
}

/** Tokens as the account of the request has them. */
export interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cacheCreation: number;
  readonly cacheRead: number;
}

/** What became of a request at its upstream. */
export interface Asked {
  readonly metered: Metered;
  /** What the client gets for it; 499 where it left before the end. */
  readonly status: number;
  readonly durationMs: Millis;
  /** Undefined for an answer that came in one piece, or not at all. */
  readonly firstPieceMs: Millis | undefined;
  readonly tokens: Tokens;
}

/** A request that is over. Nothing of it comes from the client but what Weir has found to be a route, a key or a model. */
export interface Finished {
  readonly requestId: string;
  readonly method: string;
  /** Undefined where no route takes it. */
  readonly target: Endpoint | undefined;
  /** 499 where the connection ended before the answer began. */
  readonly status: number;
  readonly durationMs: Millis;
  /** Of the credential, whether it works or not; undefined where nobody was identified. */
  readonly keyId: string | undefined;
  /** Of those that are declared; undefined where the request is for none of them or was refused before that was known. */
  readonly model: string | undefined;
  /** Undefined where no upstream was asked. */
  readonly asked: Asked | undefined;
  /** What the gateway took for itself until the first byte of the answer; undefined where no upstream has answered. */
  readonly overheadMs: Millis | undefined;
}

/** The spans of one request. */
export interface Spans {
  asks(metered: Metered): void;
  asked(asked: Asked): void;
  ends(finished: Finished): void;
  readonly trace: TraceContext;
}

export interface Observers {
  readonly clock: Clock;
  readonly finished: readonly ((request: Finished) => void)[];
  /** Begins the spans of a request; undefined where nothing is traced. */
  readonly spansOf?: ((head: WatchedHead, target: Endpoint | undefined) => Spans) | undefined;
}

/** As nginx has it: the client has closed the connection. */
const clientGone = 499;

/** An upstream's answer on its way: the meter of the account, and what is measured beside it. */
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
    // The span of the upstream ends with its answer, that of the request when the client has got it.
    this.#spans?.asked(this);
  }

  /** The request is over, whether the answer is or not: nothing more is measured. */
  leave(now: Millis): void {
    this.completeAt ??= now;
  }

  /** Once it is over. */
  get durationMs(): Millis {
    return this.completeAt! - this.askedAt;
  }

  get firstPieceMs(): Millis | undefined {
    return this.firstPieceAt === undefined ? undefined : this.firstPieceAt - this.askedAt;
  }

  /** When the first of an answer came, if anything of one did. */
  get cameAt(): Millis | undefined {
    return this.#usage === undefined ? undefined : (this.firstPieceAt ?? this.completeAt);
  }

  /**
   * Counted as the account of the request counts them: what an upstream does not report is estimated, and one that fails
   * before it has sent anything has taken nothing.
   */
  get tokens(): Tokens {
    const usage = this.#usage ?? noUsage;
    const sent = this.#sentTokens;
    const isReported = usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens > 0;
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

/** One request, from its headers to its end; what the observers are told is this object. */
class Observation implements Watched<Whose>, Finished {
  readonly target: Endpoint | undefined;
  status = clientGone;
  durationMs: Millis = 0;
  keyId: string | undefined;
  model: string | undefined;
  asked: Measured | undefined;
  readonly #observers: Observers;
  readonly #head: WatchedHead;
  readonly #spans: Spans | undefined;
  readonly #beganAt: Millis;
  /** When its headers had been judged, where a body was waited for after that. */
  #waitsAt: Millis | undefined;
  #arrivedAt: Millis;
  #answeredAt: Millis | undefined;

  constructor(observers: Observers, head: WatchedHead, target: Endpoint | undefined) {
    this.#observers = observers;
    this.#head = head;
    this.target = target;
    this.#beganAt = observers.clock.monotonic();
    this.#arrivedAt = this.#beganAt;
    this.#spans = observers.spansOf?.(head, target);
  }

  get requestId(): string {
    return this.#head.requestId;
  }

  get method(): string {
    return this.#head.method;
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

  /** Without the time in which the client sends its body or takes its answer, and that of the upstream. */
  get overheadMs(): Millis | undefined {
    const { asked } = this;
    const cameAt = asked?.cameAt;
    if (asked === undefined || cameAt === undefined || this.#answeredAt === undefined) return undefined;
    const judgedMs = this.#waitsAt === undefined ? 0 : this.#waitsAt - this.#beganAt;
    // An answer whose upstream is slow begins without it.
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

/** Measures each request and tells of it when it is over. */
export const watchOf = (observers: Observers): Watch<Whose> => ({
  begin: (head, target) => new Observation(observers, head, target),
});
