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
  readonly model: string;
  readonly api: Metered['api'];
  /** What the client gets for it; 499 where it left before the end. */
  readonly status: number;
  readonly durationMs: Millis;
  /** Undefined for an answer that came in one piece, or not at all. */
  readonly firstPieceMs: Millis | undefined;
  /** What the gateway took for itself until the first byte of the answer; undefined where there is no answer. */
  readonly overheadMs: Millis | undefined;
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
class Measured implements Meter {
  readonly askedAt: Millis;
  firstPieceAt: Millis | undefined;
  completeAt: Millis | undefined;
  status = clientGone;
  readonly metered: Metered;
  readonly #meter: Meter;
  readonly #clock: Clock;
  readonly #over: () => void;
  #usage: Usage | undefined;
  #sentTokens = 0;
  #hasCompleted = false;
  #hasFailed = false;

  constructor(metered: Metered, meter: Meter, clock: Clock, over: () => void) {
    this.metered = metered;
    this.#meter = meter;
    this.#clock = clock;
    this.#over = over;
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

  #end(status: number): void {
    this.status = status;
    this.completeAt = this.#clock.monotonic();
    this.#over();
  }

  /** Whether anything of an answer came. */
  get hasCome(): boolean {
    return this.#usage !== undefined;
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
    const isCounted = this.#hasCompleted && (usage.output_tokens > 0 || sent === 0);
    const most = this.#hasCompleted ? sent : Math.max(sent, usage.output_tokens);
    return {
      input: isReported ? whole(usage.input_tokens) : isFree ? 0 : this.metered.estimatedTokens,
      output: whole(isCounted ? usage.output_tokens : most),
      cacheCreation: whole(usage.cache_creation_input_tokens),
      cacheRead: whole(usage.cache_read_input_tokens),
    };
  }
}

class Observation implements Watched<Whose> {
  readonly #observers: Observers;
  readonly #head: WatchedHead;
  readonly #target: Endpoint | undefined;
  readonly #spans: Spans | undefined;
  readonly #beganAt: Millis;
  /** How long it took to judge the headers, where a body was waited for after that. */
  #judgedMs: Millis | undefined;
  #arrivedAt: Millis;
  #status = clientGone;
  #answeredAt: Millis | undefined;
  #model: string | undefined;
  #measured: Measured | undefined;

  constructor(observers: Observers, head: WatchedHead, target: Endpoint | undefined) {
    this.#observers = observers;
    this.#head = head;
    this.#target = target;
    this.#beganAt = observers.clock.monotonic();
    this.#arrivedAt = this.#beganAt;
    this.#spans = observers.spansOf?.(head, target);
  }

  get trace(): TraceContext | undefined {
    return this.#spans?.trace;
  }

  waits(): void {
    this.#judgedMs = this.#observers.clock.monotonic() - this.#beganAt;
  }

  arrived(): void {
    if (this.#judgedMs !== undefined) this.#arrivedAt = this.#observers.clock.monotonic();
  }

  aims(model: string): void {
    this.#model = model;
  }

  asks(metered: Metered, meter: Meter): Meter {
    this.#spans?.asks(metered);
    this.#measured = new Measured(metered, meter, this.#observers.clock, () => {
      // The span of the upstream ends with its answer, that of the request when the client has got it.
      if (this.#spans !== undefined) this.#spans.asked(this.#asked(this.#measured!));
    });
    return this.#measured;
  }

  answers(status: number): void {
    this.#status = status;
    if (this.#measured !== undefined) this.#answeredAt = this.#observers.clock.monotonic();
  }

  #asked(measured: Measured): Asked {
    const { askedAt, firstPieceAt, completeAt, status, metered, tokens } = measured;
    return {
      model: metered.model,
      api: metered.api,
      status,
      durationMs: (completeAt ?? this.#observers.clock.monotonic()) - askedAt,
      firstPieceMs: firstPieceAt === undefined ? undefined : firstPieceAt - askedAt,
      overheadMs: this.#overheadOf(measured),
      tokens,
    };
  }

  /** Without the time in which the client sends its body or takes its answer, and that of the upstream. */
  #overheadOf({ askedAt, firstPieceAt, completeAt, hasCome }: Measured): Millis | undefined {
    const cameAt = firstPieceAt ?? completeAt;
    if (this.#answeredAt === undefined || cameAt === undefined || !hasCome) return undefined;
    // An answer whose upstream is slow begins without it.
    return (this.#judgedMs ?? 0) + (askedAt - this.#arrivedAt) + Math.max(0, this.#answeredAt - cameAt);
  }

  ends(principal: Whose | undefined): void {
    const { finished, clock } = this.#observers;
    const measured = this.#measured;
    const request: Finished = {
      requestId: this.#head.requestId,
      method: this.#head.method,
      target: this.#target,
      status: this.#status,
      durationMs: clock.monotonic() - this.#beganAt,
      keyId: principal?.id,
      model: this.#model,
      asked: measured && this.#asked(measured),
    };
    for (const tell of finished) tell(request);
    this.#spans?.ends(request);
  }
}

/** Measures each request and tells of it when it is over. */
export const watchOf = (observers: Observers): Watch<Whose> => ({
  begin: (head, target) => new Observation(observers, head, target),
});
