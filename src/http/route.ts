import type { z } from 'zod';
import type { Cancellation } from '../cancellation.ts';
import type { Millis } from '../clock.ts';
import type { Code, Refusal } from '../errors.ts';
import type { Refused } from './refused.ts';
import type { TraceContext } from './trace-context.ts';

/**
 * A route is data: the router, the validation, the permission check and the OpenAPI document read the same object.
 */

/** Where there is a GET there is a HEAD as well. OPTIONS is the server's own, on every path (cors.ts). */
export type Method = 'GET' | 'POST' | 'DELETE' | 'OPTIONS';

/** Whose error envelope the callers of a route read (contract E.1). */
export type Family = 'admin' | 'models' | 'messages' | 'chat' | 'oauth';

/** Whether the routes of a family answer the SDKs of models; the others administer, and their answers can hold secrets. */
export const isInference = (family: Family): boolean => family !== 'admin' && family !== 'oauth';

/** What a caller must bring. Every route states it. */
export type Access =
  | { readonly credential: 'none' }
  /** An OAuth client by HTTP Basic or by fields of the body, which is why the handler judges it and not the gate. */
  | { readonly credential: 'client' }
  | {
      readonly credential: 'admin' | 'project';
      readonly permission: string;
      /** Whether `x-api-key` is read where there is no `Authorization` (contract A.5). */
      readonly apiKeyHeader?: boolean;
      /** Whether an Admin key alone will do: no access token, and no request with an `Origin`, which only browsers send (contract A.5). */
      readonly adminKeyOnly?: boolean;
      /** Limits of the route's own; by default those of the credential's kind: inference or administration. */
      readonly limits?: 'credits';
    };

/** What is known of a request once its headers are read. Copied from the server's own memory; valid for ever. */
export interface Head {
  readonly requestId: string;
  readonly method: string;
  /** Path as sent, without the query. */
  readonly path: string;
  /** The client's address: the socket's peer, or whom the trusted proxies name. */
  readonly ip: string;
  /**
   * Value of a header by its lower-case name.
   * @param isList whether it may come in several lines, which are one list then
   */
  header(name: string, isList?: boolean): string | undefined;
}

/** Tokens that a request needs of its limits; `unknown` where its body was too large to be read for that. */
export type Need = number | 'unknown';

/** Tokens as upstreams count them; `input_tokens` excludes cached ones. */
interface CountedTokens {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  /** Whether it is not all as the upstream has counted it. */
  readonly isPartial?: true;
  readonly details?: CountedDetails;
}

/** What an upstream may bill at other prices, or beside tokens; no count is 0. */
interface CountedDetails {
  readonly service_tier?: string;
  readonly input_cache_write_long?: number;
  readonly input_audio?: number;
  readonly output_audio?: number;
  readonly web_search?: number;
  readonly file_search?: number;
}

/** A request for a model as its account tells of it. */
export interface Metered {
  readonly requestId: string;
  readonly model: string;
  readonly api: 'messages' | 'chat.completions' | 'responses';
  /** Tokens of its input (contract F.4). */
  readonly estimatedTokens: number;
  readonly images: number;
  /** Searches that its upstream may bill. */
  readonly searches: number;
  /** Of the output that is reserved. */
  readonly maxTokens: number;
}

/** The account of a request that is given to an upstream (contract M.2). It is settled once: whoever comes later changes nothing. */
export interface Meter {
  /** What there is of the answer so far. @param sentTokens of its output, estimated */
  progress(usage: CountedTokens, sentTokens: number): void;
  /**
   * The answer is complete and about to be sent to its end.
   * @param sentTokens of its output, for an upstream that counts none
   * @param status that the client gets; 200, unless a policy keeps the answer from it
   */
  complete(usage: CountedTokens, sentTokens: number, status?: number): void;
  /** The upstream has failed, and the client is told so with this status. */
  fail(status: number): void;
}

/** One request, told of in this order; what does not happen is not told. */
export interface Watched<P> {
  /** Its headers have been judged, and a body may follow at the client's pace. @param now by the monotonic clock */
  waits(now: Millis): void;
  /** Its last byte has come. */
  arrived(): void;
  /** It is for this model, which is there. */
  aims(model: string): void;
  /** It is about to be given to its upstream. @returns the meter to be used from now on */
  asks(metered: Metered, meter: Meter): Meter;
  /** The head of its answer is written. */
  answers(status: number): void;
  /**
   * It is over. Told once.
   * @param principal whose credential it had, whether it works or not; undefined where nobody was identified
   */
  ends(principal: P | undefined): void;
  /** What its upstream gets of the trace: undefined where there is none of its own. */
  readonly trace: TraceContext | undefined;
}

/** What a request holds of the limits of its credential until its answer is complete. */
export interface Allowance {
  /**
   * Reserves tokens for the request, once.
   * @returns the 429, where they do not fit
   */
  reserve(tokens: number): Refusal | undefined;
  /** Tokens that the request has taken so far. What was reserved becomes this when the request ends. */
  spent: number;
  /** Makes the reservation so many tokens while the answer is produced; it is not refused, and never gets smaller. */
  enlarge(tokens: number): void;
  /** Gives back now what was reserved beyond `spent`, which is final: before an answer that is made is sent. */
  settle(): void;
  /**
   * Opens the account of the request, before its upstream is asked. It is settled when the request ends, if not before.
   * @returns the 402, where the organization cannot pay for it, or the 503, where it cannot be kept; then nothing is reserved
   * any more
   */
  meter(metered: Metered): Meter | Refusal;
}

/** A request whose credential is identified. The limits have counted it already, whatever follows. */
export interface RateLimitLease<P> extends Allowance {
  readonly principal: P;
  /** Whose share of the server's memory its body takes: the organization's id. */
  readonly account: string;
  /** Whether a limit has refused it. */
  readonly limited: boolean;
  /** The 429 of a limited request that would need so many tokens. */
  refusal(need: Need): Refusal;
  /** Why the credential may not do this, a 403; asked for what is not limited. */
  readonly denied: Refusal | undefined;
  /** Whether its credential has changed or expired since it was judged: then it is to be judged again. */
  readonly dated: boolean;
  /** What is left of the limits now, as header lines that begin with CR LF: names and numbers of our own. */
  lines(): string;
  /** Its answer is complete, or the client has gone. A second call does nothing. */
  end(): void;
}

/** Judges credentials at the headers, for a route by its method and documented path. Never waits. */
export interface Gate<P> {
  /** What it knows is too old to judge by: whoever sends a body is judged again once it is complete (contract A.5). */
  readonly isTooOld: boolean;
  /** @returns a refusal where nobody is identified who has a right to be told of limits */
  judge(
    head: Head,
    access: Access,
    aim: { readonly method: string; readonly path: string },
  ): RateLimitLease<P> | Refusal;
  /**
   * Counts a request that no route takes, for whoever sends it (contract F.5).
   * @param access of the routes that its path has for other methods
   * @returns the 429 of an address that guesses; undefined where nobody is identified
   */
  meet(head: Head, access: Access | undefined): RateLimitLease<P> | Refusal | undefined;
  /**
   * Judges once more whoever sent a body, now that it is complete, where the pass has become `dated` or the gate's knowledge too
   * old (contract A.5). It
   * is still the same attempt: nothing is counted again.
   * @returns who it is now, or why it may not do this any more
   */
  judgeAgain(
    head: Head,
    access: Access,
    aim: { readonly method: string; readonly path: string },
  ): { readonly principal: P } | Refusal;
}

/**
 * Takes so many more bytes of the server's memory for an answer, until its request ends.
 * @returns the 503 where its organization, or all of them, hold as many as they may; then nothing is taken
 */
export type Hold = (bytes: number) => Refusal | undefined;

/** One request on its way to the handler: authenticated, permitted, complete and valid. */
export interface Call<P, Params, Query, Body, Found> {
  readonly head: Head;
  readonly principal: P;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** On a route without a credential it takes everything and counts nothing. */
  readonly allowance: Allowance;
  /** What the route's `find` returned. */
  readonly found: Found;
  /** For what of its answer is kept before it is sent. Made on first use. */
  readonly hold: Hold;
  /** Aborted when the client leaves before the answer is complete. Made on first use. */
  readonly signal: Cancellation;
  /** Who watches it, if anybody does. */
  readonly watched?: Watched<P> | undefined;
  /** Of which trace its upstream is to be told, if of any (contract A.3). */
  readonly trace?: TraceContext | undefined;
}

/** Where a streamed answer goes. One owner; writes after `gone` are dropped. */
export interface Sink {
  /** False when the client reads slower than we write: wait for `drained` before the next write. */
  write(chunk: string | Uint8Array): boolean;
  /** The last write of all, which leaves together with the end of the answer where it can. */
  last(chunk: string | Uint8Array): void;
  /** Resolves when there is room again, or the client is gone. */
  drained(): Promise<void>;
  readonly gone: boolean;
}

export type Headers = Readonly<Record<string, string>>;

export type Reply =
  /** `body` is sent as JSON; a string or bytes are JSON already. */
  | { readonly status: number; readonly headers?: Headers; readonly body: object | string | Uint8Array }
  /** The status goes out with the first byte that `stream` writes, or when it returns. A throw cuts the connection. */
  | { readonly status: number; readonly headers?: Headers; readonly stream: (sink: Sink) => Promise<void> };

/** Reads the bytes of a body that no single schema judges. */
export interface BodyReader<P, Body> {
  /** What the OpenAPI document says of it. */
  readonly schema: z.ZodType;
  /** The bytes are lent until the handler returns. */
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
  /** Of its errors where `anthropic-version` was sent, if not `family`. */
  readonly versionedFamily?: Family;
  readonly access: Access;
  readonly params?: z.ZodType<Params>;
  readonly query?: z.ZodType<Query>;
  /** Request headers with rules of their own, by their documented names. */
  readonly headers?: Readonly<Record<string, z.ZodType<string | undefined>>>;
  /** Absent: the route takes no body, and `{}` or nothing is accepted. */
  readonly body?: z.ZodType<Body> | BodyReader<P, Body>;
  /** How the body is written; default JSON. The fields of a form are strings, those without a value are as if not there. */
  readonly bodyForm?: 'json' | 'urlencoded';
  /** Bytes; one more is 413. Default 64 KiB. */
  readonly bodyLimit?: number;
  /** Answered while the server drains too, when all other requests are refused. */
  readonly whileDraining?: true;
  /** Tokens that a request needs: asked of one that a limit has refused, for its Retry-After (contract F.2). */
  readonly tokens?: (call: { readonly head: Head; readonly principal: P; readonly body: Body }) => Need;
  /** The resource that the path names, or a `Fault` (404). Runs after the path and query are valid and before the body is. */
  readonly find?: (call: { readonly principal: P; readonly params: Params }) => Found;
  /** Documented successes by status. */
  readonly replies: Readonly<
    Record<number, { readonly description: string; readonly schema?: z.ZodType; readonly media?: string }>
  >;
  /** Codes beyond those that every authenticated route shares. */
  readonly errors?: readonly Code[];
  /** Those that have another status where an upstream has judged so. */
  readonly foreignErrors?: readonly (readonly [code: Code, status: number])[];
  readonly handle: (call: Call<P, Params, Query, Body, Found>) => Reply | Promise<Reply>;
}

/** A route whose types have served their purpose. */
// biome-ignore lint/suspicious/noExplicitAny: the definition was checked where it was written; the router cannot know its types.
export type Route = RouteDefinition<any, any, any, any, any>;

/** Writes a route down with its types inferred. */
export const route = <
  P,
  Params = Record<string, never>,
  Query = Record<string, never>,
  Body = undefined,
  Found = undefined,
>(
  definition: RouteDefinition<P, Params, Query, Body, Found>,
): Route => definition;
