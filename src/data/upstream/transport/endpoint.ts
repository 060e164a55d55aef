import type { Clock } from '../../../clock.ts';
import type { Secret } from '../../../secrets/secret.ts';
import { Pool } from '../http1/pool.ts';
import { type HttpRequest, headerLines, post } from '../http1/request.ts';
import type { ResponseHead } from '../http1/response-head.ts';
import { Sweep } from '../http1/sweep.ts';
import { trusting } from '../http1/trust.ts';
import { isPrivateAddress } from '../models/base-url.ts';
import type { ReachedEndpoint } from '../models/model-schema.ts';
import type { GenerateOptions, UpstreamError } from '../port.ts';
import type { Random } from '../seed.ts';
import { sleep as realSleep, type Sleep } from '../sleep.ts';
import { UpstreamExchange } from './exchange.ts';
import { guardedLookup, type Resolve } from './guarded-lookup.ts';
import { type Deadlines, maxErrorBytes, maxErrorMs } from './limits.ts';
import { RetryBudget } from './retry-budget.ts';
import {
  type Hide,
  isConnectionFailure,
  isTimeout,
  malformed,
  retryAfterSeconds,
  statusError,
  transportError,
} from './upstream-errors.ts';

export interface EndpointDependencies {
  readonly clock: Clock;
  readonly sleep?: Sleep | undefined;
  readonly random?: Random | undefined;
  /** Whether a lost connection is retried; false if another upstream is asked instead. */
  readonly repeats?: boolean | undefined;
  /** Name resolution, `dns.lookup` by default. */
  readonly resolve?: Resolve | undefined;
  /** Bytes came that no request had asked for; their connection is closed. */
  readonly unasked?: (() => void) | undefined;
}

/** Or earlier, as the upstream names it. */
const keepMs = 30_000;
/** A retry comes after 10 to 110 ms. */
const [leastPauseMs, pauseSpreadMs] = [10, 100];

export interface Outgoing {
  /** Below the base URL, such as `/v1/messages`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The body is not the client's: places in it must not be reported. */
  readonly isTranslated?: boolean;
  /** The body to ask with once more; null if the refusal stands. Called once, after a 4xx. */
  readonly otherwise?: ((status: number, text: string) => Buffer | null) | undefined;
}

/** What a kind of upstream wants in each request, beside the client's headers that are passed on. */
export interface OwnHeaders {
  /** Name of the header with the id of the request. */
  readonly requestId: string;
  readonly credential: (apiKey: Secret) => Readonly<Record<string, string>>;
  /** Unless the client's own are passed on. */
  readonly usual?: Readonly<Record<string, string>>;
}

export class Endpoint {
  readonly #pool: Pool;
  readonly #path: string;
  readonly #own: OwnHeaders;
  /** The lines that are the same in all requests. */
  readonly #fixed: string;
  readonly #apiKey: Secret;
  /** With the port where it is not the usual one. */
  readonly #host: string;
  /** Matched in any case. */
  readonly #hostname: RegExp;
  readonly #deadlines: Deadlines;
  readonly #clock: Clock;
  readonly #sleep: Sleep;
  readonly #random: Random;
  readonly #retries: RetryBudget | null;

  constructor(declared: ReachedEndpoint, own: OwnHeaders, dependencies: EndpointDependencies) {
    const url = new URL(declared.base_url);
    const {
      clock,
      sleep = realSleep,
      random = Math.random,
      repeats = true,
      resolve,
      unasked = () => {},
    } = dependencies;
    const isTls = url.protocol === 'https:';
    this.#pool = new Pool(
      {
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: Number(url.port) || (isTls ? 443 : 80),
        trust: isTls ? trusting(declared.ca) : null,
        lookup: guardedLookup((address) => declared.private_network || !isPrivateAddress(address), resolve),
        connectMs: declared.connect_timeout_ms,
        keepMs,
        unasked,
      },
      declared.connections,
      new Sweep(clock),
    );
    this.#path = url.pathname.replace(/\/$/, '');
    this.#own = own;
    this.#apiKey = declared.apiKey;
    this.#fixed = headerLines({ ...own.credential(declared.apiKey), ...fixed });
    this.#host = url.host;
    this.#hostname = new RegExp(url.hostname.replace(/[.[\]]/g, '\\$&'), 'gi');
    this.#deadlines = {
      firstByteMs: declared.first_byte_timeout_ms,
      idleMs: declared.idle_timeout_ms,
      totalMs: declared.total_timeout_ms,
    };
    this.#clock = clock;
    this.#sleep = sleep;
    this.#random = random;
    this.#retries = repeats ? new RetryBudget() : null;
  }

  readonly hide: Hide = (text) => this.#apiKey.hideIn(text).replaceAll(this.#hostname, '[host]');

  /** Resolves to an unread 200 of that media type. @throws the signal's reason or an UpstreamError */
  async post(request: Outgoing, accept: string, maxBytes: number, options: GenerateOptions): Promise<UpstreamExchange> {
    const { signal } = options;
    signal.throwIfAborted();
    const totalAt = this.#clock.monotonic() + this.#deadlines.totalMs;
    this.#retries?.earn();
    let sent = this.#request(request, accept, options);
    let { otherwise } = request;
    for (let attempt = 1; ; attempt += 1) {
      const exchange = new UpstreamExchange(this.#pool, sent, signal, this.#deadlines, maxBytes, totalAt);
      try {
        while (exchange.responseHead === null) await exchange.change();
        const { responseHead } = exchange;
        if (responseHead.status !== 200) {
          const text = await readError(exchange);
          const other = isOfClient(responseHead.status) ? (otherwise?.(responseHead.status, text) ?? null) : null;
          if (other === null) throw this.#refusal(responseHead, text, request.isTranslated !== true);
          exchange.close();
          signal.throwIfAborted();
          // It takes a retry of the budget, but is made without one too: the client has not asked for what is refused.
          this.#retries?.take();
          otherwise = undefined;
          sent = this.#request({ ...request, body: other }, accept, options);
          continue;
        }
        check(responseHead, accept);
        options.began?.();
        return exchange;
      } catch (error) {
        exchange.close();
        signal.throwIfAborted();
        // Never after the first byte: the upstream has begun to work and to charge.
        const isLost = !exchange.answered && isConnectionFailure(error);
        // A full wait for a connection is not repeated.
        const again = attempt === 1 && isLost && !isTimeout(error) && this.#retries?.take();
        if (!again) throw transportError(error, exchange.sent && !isLost);
      }
      await this.#sleep(leastPauseMs + pauseSpreadMs * this.#random(), signal);
    }
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #request({ path, headers = {}, body }: Outgoing, accept: string, { requestId, trace }: GenerateOptions): HttpRequest {
    const { requestId: name, usual } = this.#own;
    try {
      let lines = `${this.#fixed}accept: ${accept}\r\n${name}: ${requestId}\r\n${headerLines(headers)}`;
      for (const each in usual) if (headers[each] === undefined) lines += `${each}: ${usual[each]}\r\n`;
      if (trace !== undefined) lines += headerLines(trace);
      return post(this.#host, this.#path + path, lines, body);
    } catch (error) {
      throw transportError(error);
    }
  }

  #refusal(head: ResponseHead, text: string, tellsPlaces: boolean): UpstreamError {
    const { status } = head;
    const wait = [429, 503, 529].includes(status)
      ? retryAfterSeconds(head.header('retry-after'), this.#clock.wall())
      : undefined;
    return statusError(status, text, { hide: this.hide, tellsPlaces, retryAfterSeconds: wait });
  }
}

const isOfClient = (status: number): boolean => status >= 400 && status < 500;

export const streamType = 'text/event-stream';

const fixed = { 'content-type': 'application/json', 'accept-encoding': 'identity' };

/** @throws UpstreamError for an answer of another form than was asked for */
const check = (head: ResponseHead, accept: string): void => {
  const encoding = head.header('content-encoding');
  if (encoding !== undefined && encoding !== 'identity') throw malformed('the response is encoded, unasked');
  const type = head.header('content-type') ?? '';
  // The SDKs read a stream of any type, or of none.
  if (type === '' || type === accept || accept === streamType) return;
  const media = type.split(';', 1)[0]!.trim().toLowerCase();
  if (!media.endsWith('json') && !media.includes('application/json'))
    throw malformed('the response is of another media type');
};

/** A fault on the way counts as the end. */
const readError = async (exchange: UpstreamExchange): Promise<string> => {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const timer = setTimeout(() => exchange.close(), maxErrorMs);
  try {
    while (bytes < maxErrorBytes) {
      const piece = await exchange.read();
      if (piece === null) break;
      pieces.push(piece);
      bytes += piece.length;
    }
  } catch {
    // Then only the status decides.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(pieces).toString('utf8');
};
