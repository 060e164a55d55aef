import type { z } from 'zod';
import type { Api } from '../apis.ts';
import type { Cancellation } from '../cancellation.ts';
import type { Millis } from '../clock.ts';
import type { Code, Refusal } from '../errors.ts';
import type { Usage } from '../tokens.ts';
import type { Refused } from './refused.ts';
import type { TraceContext } from './trace-context.ts';

/** Router, validation, permission check and OpenAPI document read the same object. */

/** GET implies HEAD. OPTIONS is the server's own (cors.ts). */
export type Method = 'GET' | 'POST' | 'DELETE' | 'OPTIONS';

/** Whose error envelope the callers of a route read (contract E.1). */
export type Family = 'admin' | 'models' | 'messages' | 'chat' | 'oauth';

/** The others administer; their answers can hold secrets. */
export const isInference = (family: Family): boolean => family !== 'admin' && family !== 'oauth';

/** Every route declares it. */
export type Access =
  | { readonly credential: 'none' }
  /** By HTTP Basic or body fields, so the handler judges it, not the gate. */
  | { readonly credential: 'client' }
  | {
      readonly credential: 'admin' | 'project';
      readonly permission: string;
      /** `x-api-key` is read without `Authorization` (contract A.5). */
      readonly apiKeyHeader?: boolean;
      /** No access token, and no request with an `Origin`, which only browsers send (contract A.5). */
      readonly adminKeyOnly?: boolean;
      /** Default: those of the credential's kind. */
      readonly limits?: 'credits';
    };

/** Copied from the server's memory; valid for ever. */
export interface Head {
  readonly requestId: string;
  readonly method: string;
  /** Path as sent, without the query. */
  readonly path: string;
  /** The peer, or as the trusted proxies report. */
  readonly ip: string;
  /** @param name in lower case. @param isList whether several lines form a list */
  header(name: string, isList?: boolean): string | undefined;
}

/** What a request needs of the limits, for `Retry-After` (contract F.2). */
export interface Need {
  /** `unknown`: the body was too large to read for that. */
  readonly tokens: number | 'unknown';
  /** Its id; null if it calls none, or is too large. */
  readonly model: string | null;
}

/** Of a request that would be refused anyway, and of one without tokens. */
export const noNeed: Need = { tokens: 0, model: null };
export const unknownNeed: Need = { tokens: 'unknown', model: null };

/** How a request that names no maximum of tokens can be sent with one (contract M.8). */
export interface Cut {
  /** The member of a body that passes; null for a request in Weir's own form. */
  readonly member: string | null;
  readonly answers: number;
  /** The smallest maximum that its upstream takes. */
  readonly least: number;
}

export interface Metered {
  readonly requestId: string;
  readonly model: string;
  /** The alias that the client sent for it, if any (contract A.4). */
  readonly requestedModel?: string | undefined;
  readonly api: Api;
  /** Tokens of its input (contract F.4). */
  readonly estimatedTokens: number;
  readonly images: number;
  /** That its upstream may bill. */
  readonly searches: number;
  /** Reserved output. */
  readonly maxTokens: number;
  /** The same, or of an answer without a maximum the model's longest. */
  readonly longest: number;
  /** How it can be sent with a maximum if it names none. */
  readonly cut?: Cut | undefined;
}

/** Settled once; later calls have no effect (contract M.2). */
export interface Meter {
  /** Usage so far. @param sentTokens of output, estimated */
  progress(usage: Usage, sentTokens: number): void;
  /** Called before the last byte is sent. @param status not 200 if a policy withholds the answer */
  complete(usage: Usage, sentTokens: number, status?: number): void;
  /** The upstream failed; `status` is the client's. */
  fail(status: number): void;
  /** Resolves once the account is written as it is now: to be awaited before the last byte is sent (contract M.5). */
  readonly written: Promise<unknown> | undefined;
}

/** From the reservation to the end of the request (contract F.4, M.2). */
export interface Account extends Meter {
  /** Tokens of each answer that the request is to be sent with, because money is left for no more; null as it is (contract M.8). */
  readonly maximum: number | null;
  /** Tokens so far; they replace the reservation at the request's end. */
  spent: number;
  /** Reservation and credit. Never refused, never lowered. */
  enlarge(tokens: number): void;
  /** Releases the reservation beyond `spent`, which is final, before a made answer is sent. */
  settle(): void;
}

/** Of a request that nobody accounts for. */
export const unmetered: Account = {
  maximum: null,
  spent: 0,
  enlarge: () => {},
  settle: () => {},
  progress: () => {},
  complete: () => {},
  fail: () => {},
  written: undefined,
};

/** Callbacks in this order; some are skipped. */
export interface Watched<P> {
  /** The headers were judged; a body may follow. @param now monotonic */
  waits(now: Millis): void;
  /** Its last byte has come. */
  arrived(): void;
  /** The requested model, which exists. */
  aims(model: string): void;
  /** Before the upstream is asked. Returns the meter to use from now on. */
  asks(metered: Metered, meter: Meter): Meter;
  /** The head of its answer is written. */
  answers(status: number): void;
  /** Called once. @param principal of its credential, valid or not; undefined if nobody was identified */
  ends(principal: P | undefined): void;
  readonly trace: TraceContext | undefined;
}

/** Held until the answer is complete. */
export interface Allowance {
  /**
   * At most once: reserves tokens, holds credit and writes the beginning of the account, or does nothing of these. Resolves
   * once the request may be given to its upstream; else to the 429, the 402 without credit, or the 503 if no line can be
   * written.
   */
  open(metered: Metered): Promise<Account | Refusal>;
  /** Instead, for a request without tokens or a price: counts the attempt for its model. Returns the 429, if any. */
  enter(model: string): Refusal | null;
}

/** An identified request, already counted by the limits. */
export interface RateLimitLease<P> extends Allowance {
  readonly principal: P;
  /** The organization's id, charged for the memory of the body. */
  readonly organization: string;
  /** Whether a limit has refused it. */
  readonly limited: boolean;
  /** The 429 for this need. */
  refusal(need: Need): Refusal;
  /** The 403, read if no limit has refused. */
  readonly denied: Refusal | undefined;
  /** Its credential changed or expired since it was judged: judge again. */
  readonly dated: boolean;
  /** Header lines of the limits that begin with CR LF. */
  lines(): string;
  /** The answer is complete, or the client gone. Idempotent. */
  end(): void;
}

/** Judges credentials synchronously at the headers. */
export interface Gate<P> {
  /** Its knowledge is too old: requests with a body are judged again when complete (contract A.5). */
  readonly isTooOld: boolean;
  /** A refusal if nobody with limits is identified. */
  judge(
    head: Head,
    access: Access,
    aim: { readonly method: string; readonly path: string },
  ): RateLimitLease<P> | Refusal;
  /** Counts an unrouted request (contract F.5). Returns the 429 of a guessing address. */
  meet(head: Head, access: Access | undefined): RateLimitLease<P> | Refusal | undefined;
  /** After the body, if the pass is `dated` or the knowledge too old (contract A.5). Counts nothing again. */
  judgeAgain(
    head: Head,
    access: Access,
    aim: { readonly method: string; readonly path: string },
  ): { readonly principal: P } | Refusal;
}

/** Until the request ends. Returns the 503 if a budget is exceeded; then nothing is taken. */
export type Hold = (bytes: number) => Refusal | undefined;

export interface Call<P, Params, Query, Body, Found> {
  readonly head: Head;
  readonly principal: P;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** On a route without a credential it counts nothing. */
  readonly allowance: Allowance;
  readonly found: Found;
  /** For kept answers. */
  readonly hold: Hold;
  /** Fires when the client leaves before the answer is complete. */
  readonly signal: Cancellation;
  readonly watched?: Watched<P> | undefined;
  /** Passed to the upstream (contract A.3). */
  readonly trace?: TraceContext | undefined;
}

/** Of a streamed answer. Writes after `gone` are dropped. */
export interface Sink {
  /** False: wait for `drained` before the next write. */
  write(chunk: string | Uint8Array): boolean;
  /** The last write, sent together with the end if possible. */
  last(chunk: string | Uint8Array): void;
  /** There is room, or the client is gone. */
  drained(): Promise<void>;
  readonly gone: boolean;
}

export type Headers = Readonly<Record<string, string>>;

export type Reply =
  /** A string or bytes are JSON already. */
  | { readonly status: number; readonly headers?: Headers; readonly body: object | string | Uint8Array }
  /** The status goes out with the first byte or at the return. A throw cuts the connection. */
  | { readonly status: number; readonly headers?: Headers; readonly stream: (sink: Sink) => Promise<void> };

/** For bodies that no single schema judges. */
export interface BodyReader<P, Body> {
  /** For the OpenAPI document. */
  readonly schema: z.ZodType;
  /** The bytes are valid until the handler returns. */
  readonly read: (bytes: Buffer, principal: P) => Body | Refused;
}

export interface RouteDefinition<P, Params, Query, Body, Found> {
  readonly method: Method;
  /** `{name}` stands for one segment. */
  readonly path: string;
  /** The OpenAPI operationId. */
  readonly operation: string;
  readonly summary: string;
  readonly tag: 'Organization' | 'Inference' | 'OAuth' | 'Operations';
  readonly family: Family;
  /** With `anthropic-version`; default `family`. */
  readonly versionedFamily?: Family;
  readonly access: Access;
  readonly params?: z.ZodType<Params>;
  readonly query?: z.ZodType<Query>;
  /** With their own rules, by documented names. */
  readonly headers?: Readonly<Record<string, z.ZodType<string | undefined>>>;
  /** Absent: no body; `{}` or nothing is accepted. */
  readonly body?: z.ZodType<Body> | BodyReader<P, Body>;
  /** Default JSON. Form fields are strings; empty ones are absent. */
  readonly bodyForm?: 'json' | 'urlencoded';
  /** Default 64 KiB. */
  readonly bodyLimit?: number;
  /** Also answered while the server drains. */
  readonly whileDraining?: true;
  /** Asked after a limit's refusal, for Retry-After (contract F.2). */
  readonly tokens?: (call: { readonly head: Head; readonly principal: P; readonly body: Body }) => Need;
  /** Throws a `Fault` (404). Runs after path and query are valid, before the body is. */
  readonly find?: (call: { readonly principal: P; readonly params: Params }) => Found;
  readonly replies: Readonly<
    Record<number, { readonly description: string; readonly schema?: z.ZodType; readonly media?: string }>
  >;
  /** Beyond the common codes. */
  readonly errors?: readonly Code[];
  /** Other statuses for an upstream's verdict. */
  readonly foreignErrors?: readonly (readonly [code: Code, status: number])[];
  readonly handle: (call: Call<P, Params, Query, Body, Found>) => Reply | Promise<Reply>;
}

// biome-ignore lint/suspicious/noExplicitAny: the definition was checked where it was written; the router cannot know its types.
export type Route = RouteDefinition<any, any, any, any, any>;

export const route = <
  P,
  Params = Record<string, never>,
  Query = Record<string, never>,
  Body = undefined,
  Found = undefined,
>(
  definition: RouteDefinition<P, Params, Query, Body, Found>,
): Route => definition;
