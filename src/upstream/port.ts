import type { Cancellation } from '../cancellation.ts';

/**
 * Hosted models behind one interface. The vocabulary is that of the messages API (contract G.1–G.5), whatever the
 * upstream speaks. A request that reaches an upstream has been validated.
 */

export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
}
export interface ToolUseBlock {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}
export interface ThinkingBlock {
  readonly type: 'thinking';
  readonly thinking: string;
  readonly signature: string;
}
export interface RedactedThinkingBlock {
  readonly type: 'redacted_thinking';
  readonly data: string;
}
/** What an answer is made of, in the order of production. */
export type AnswerBlock = TextBlock | ToolUseBlock | ThinkingBlock | RedactedThinkingBlock;

/** A block of a request: one of the above, or an image, document or tool_result; fields beyond those read here travel along. */
export interface InputBlock {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface Message {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: string | readonly InputBlock[];
  /** A hint for the answers from here on. */
  readonly output_config?: { readonly effort?: string | null | undefined } | null | undefined;
}

export interface Tool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly input_schema: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

export interface ToolChoice {
  readonly type: 'auto' | 'any' | 'tool' | 'none';
  readonly name?: string | undefined;
  readonly disable_parallel_tool_use?: boolean | undefined;
}

export interface Thinking {
  readonly type: 'enabled' | 'disabled' | 'adaptive' | 'between_tools';
  readonly budget_tokens?: number | undefined;
  /** Whether the text of the thinking is wanted; its signature comes in any case. */
  readonly display?: 'summarized' | 'omitted' | undefined;
}

export interface GenerateRequest {
  /** The upstream's own name of the model. */
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly Message[];
  readonly system?: string | readonly InputBlock[] | undefined;
  readonly temperature?: number | undefined;
  readonly top_p?: number | undefined;
  readonly top_k?: number | undefined;
  readonly stop_sequences?: readonly string[] | undefined;
  readonly tools?: readonly Tool[] | undefined;
  readonly tool_choice?: ToolChoice | undefined;
  readonly thinking?: Thinking | undefined;
  readonly output_config?:
    | {
        readonly format?:
          | { readonly type: 'json_schema'; readonly schema: Readonly<Record<string, unknown>> }
          | undefined;
        readonly effort?: string | undefined;
      }
    | undefined;
  readonly metadata?: { readonly user_id?: string | undefined } | undefined;
}

/** What `count_tokens` counts (contract G.1). */
export type CountRequest = Omit<
  GenerateRequest,
  'max_tokens' | 'temperature' | 'top_p' | 'top_k' | 'stop_sequences' | 'metadata'
>;

/** What an upstream is to do with a request. */
export type Purpose = 'answer' | 'stream' | 'count';

/** What one upstream sends for a request, or, of a simulated model, what comes of it. Plain data, made in another thread. */
export type Written =
  | { readonly body: Uint8Array }
  | { readonly answer: Answer }
  | { readonly failure: Pick<UpstreamError, 'code' | 'message' | 'status' | 'told'> };

/** A large request, of which nothing but this has come from the thread that has read it (contract A.3). */
export interface WrittenRequest {
  /** The upstream's own name of the model. */
  readonly model: string;
  /** By `Upstream.written`, for the same purpose. */
  readonly written: readonly (Written | null)[];
}

/** Tokens; 0 where the upstream does not say (contract G.3). `input_tokens` excludes cached ones. */
export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  /** Of the output those that were thought; absent where the upstream does not tell them apart. */
  readonly reasoning_tokens?: number;
  /** Whether it is not all as the upstream has counted it: that has not been told, or cannot be. */
  readonly isPartial?: true;
  /** What it may bill at other prices, or beside tokens (contract M.4). */
  readonly details?: UsageDetails;
}

/** No count is 0, and what is usual is not said. */
export interface UsageDetails {
  /** How the request was served, in the upstream's own word. */
  readonly service_tier?: string;
  /** Of `cache_creation_input_tokens` those in a cache that lives longer than the usual one. */
  readonly input_cache_write_long?: number;
  /** Of `input_tokens` and of `output_tokens`. */
  readonly input_audio?: number;
  readonly output_audio?: number;
  /** Searches that the upstream itself has made. */
  readonly web_search?: number;
  readonly file_search?: number;
}

export const noUsage: Usage = Object.freeze({
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
});

export type StopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use';

export interface Answer {
  readonly content: readonly AnswerBlock[];
  readonly stop_reason: StopReason;
  /** The matched sequence iff `stop_reason` is `stop_sequence`. */
  readonly stop_sequence: string | null;
  readonly usage: Usage;
}

/** One step of a streamed answer. Blocks never interleave; indexes count from 0. */
export type Chunk =
  | { readonly type: 'start'; readonly usage: Usage }
  /** The block is empty: `text: ""`, `input: {}`, `thinking: ""` and `signature: ""`; only `redacted_thinking` is whole. */
  | { readonly type: 'block_start'; readonly index: number; readonly block: AnswerBlock }
  | { readonly type: 'block_delta'; readonly index: number; readonly delta: Delta }
  | { readonly type: 'block_stop'; readonly index: number }
  /** The last chunk; `usage` is final. */
  | {
      readonly type: 'end';
      readonly stop_reason: StopReason;
      readonly stop_sequence: string | null;
      readonly usage: Usage;
    };

export type Delta =
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'input_json_delta'; readonly partial_json: string }
  | { readonly type: 'thinking_delta'; readonly thinking: string }
  | { readonly type: 'signature_delta'; readonly signature: string };

export interface GenerateOptions {
  /** Aborting it ends the work at the upstream; the promise or iteration then rejects with the signal's reason. */
  readonly signal: Cancellation;
  readonly requestId: string;
  /** Is told once the upstream has begun to answer, as far as that can be known before the end. */
  readonly began?: (() => void) | undefined;
  /**
   * Is told what the upstream has counted while nothing of its answer has gone on, which may be all that ever comes of it; that
   * it is nothing, where the next is asked; and what the whole answer takes, where that was told and the answer breaks off.
   */
  readonly counted?: ((usage: Usage) => void) | undefined;
  /**
   * Is told of more bytes of an answer in one piece before they are kept.
   * @throws AnswerUnwanted where there is no room for them
   */
  readonly hold?: ((bytes: number) => void) | undefined;
  /** Of which trace the upstream is told, if of any (W3C Trace Context). */
  readonly trace?: { readonly traceparent: string; readonly tracestate?: string } | undefined;
}

/** A request of the client's own bytes, for an upstream that speaks the client's API (contract L.1). */
export interface PassedRequest {
  /** With the upstream's own name of the model. */
  readonly body: Buffer;
  /** What the answer is to have for its own id and model. */
  readonly id: string;
  readonly model: string;
  /** Of a stream of chat completions: whether its usage was asked for by this gateway alone, and is not for the client. */
  readonly hidesUsage?: boolean | undefined;
  /** Of the client's headers those that the API defines, by their lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface PassedAnswer {
  /** JSON. */
  readonly body: Buffer;
  readonly usage: Usage;
  /** Bytes of text, thinking and tool input; 0 where the upstream has counted the tokens. */
  readonly outputBytes: number;
}

/** Whole events of a streamed answer, as the upstream wrote them. */
export interface PassedEvents {
  /** The event that begins the message; in the first piece only. */
  readonly start: Buffer | null;
  readonly events: Buffer;
  /** As far as the upstream has told. */
  readonly usage: Usage;
  /** Bytes of text, thinking and tool input so far. */
  readonly outputBytes: number;
  /** Whether this is the end of the message, and `usage` final. */
  readonly ended: boolean;
}

/** An API that the upstream speaks itself, for clients that speak it too. */
export interface Passing {
  /** @throws UpstreamError */
  answer(request: PassedRequest, options: GenerateOptions): Promise<PassedAnswer>;
  /** The first piece comes with the first event beyond the beginning of the message. Rejects with an UpstreamError. */
  stream(request: PassedRequest, options: GenerateOptions): AsyncIterable<PassedEvents>;
}

/** The messages API, which also counts. */
export interface MessagesPassing extends Passing {
  /**
   * The input tokens of a request as the upstream counts them.
   * @returns null where it does not count
   * @throws UpstreamError
   */
  countTokens(request: PassedRequest, options: GenerateOptions): Promise<number | null>;
}

/** What of a request an upstream's API has no place for. */
export interface Inexpressible {
  /** In the form of the messages API. */
  readonly path: readonly (string | number)[];
  /** A sentence. */
  readonly message: string;
  readonly code: 'unsupported_parameter' | 'unsupported_content_block';
}

/** Neither keeps the request: what of it is still needed after the call is held once, in the form in which it is sent. */
export interface Upstream {
  /** @throws UpstreamError */
  answer(request: GenerateRequest | WrittenRequest, options: GenerateOptions): Promise<Answer>;
  /** Rejects with an UpstreamError on the first step or in the middle; `end` is yielded exactly once, last. */
  stream(request: GenerateRequest | WrittenRequest, options: GenerateOptions): AsyncIterable<Chunk>;
  /** Null for a request that can be asked for; absent where every one can. No other may be given to `answer` and `stream`. */
  inexpressible?(request: GenerateRequest): Inexpressible | null;
  /** As `MessagesPassing.countTokens`; absent where the upstream cannot count. */
  countTokens?(request: CountRequest | WrittenRequest, options: GenerateOptions): Promise<number | null>;
  /**
   * What each of the upstreams that this one stands for would send; null for one that has no place for all of it. A request is
   * written in a thread so that `answer` and the others have no more to do than to send it. Absent where none ever is.
   */
  written?(request: GenerateRequest | CountRequest, purpose: Purpose): readonly (Written | null)[];
  /** Whether the same request gets the same answer. */
  readonly repeatable?: true;
  /** By the API; absent where the upstream speaks none of ours. */
  readonly passing?: { readonly messages?: MessagesPassing; readonly chat?: Passing; readonly responses?: Passing };
  /** Ends idle connections; in-flight ones finish. */
  close(): Promise<void>;
}

/** An answer that whoever has asked for it gives up, which is no failure of the upstream. */
export class AnswerUnwanted extends Error {
  override readonly name: string = 'AnswerUnwanted';
}

/** How an upstream failed, in the codes of the catalogue (contract E.2). */
export type UpstreamCode =
  | 'provider_error'
  | 'provider_overloaded'
  | 'provider_timeout'
  | 'context_length_exceeded'
  | 'content_refused'
  | 'invalid_request'
  | 'request_too_large';

/** What a gateway that writes its errors as this one does (contract E.1) says of a request, beyond the message. */
export interface ToldRefusal {
  /** Of the catalogue, or so it claims. */
  readonly code: string;
  readonly param: string | null;
  readonly details: readonly {
    readonly loc: readonly string[];
    readonly msg: string;
    readonly type: string;
    readonly input?: unknown;
    readonly ctx: Readonly<Record<string, unknown>>;
  }[];
}

export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  override readonly cause: Error | undefined;
  readonly code: UpstreamCode;
  /** When the upstream asked for a pause, in seconds, 1 to 30. */
  readonly retryAfterSeconds: number | undefined;
  /** With which the upstream answered, if it did. */
  readonly status: number | undefined;
  /**
   * Whether the upstream has worked for the answer, as far as is known. If not, another may be asked for the same without
   * that it is done and charged twice.
   */
  readonly begun: boolean;
  readonly told: ToldRefusal | undefined;
  /** What it has counted for an answer of which nothing is left. */
  readonly usage: Usage | undefined;
  /** Characters of what the upstream has said of it. */
  readonly length: number | undefined;
  /** For the log: what was wrong. It has no text of the upstream, which may be that of the request. */
  get reason(): string {
    return (this.cause ?? this).message;
  }

  /**
   * `message` may be shown to the client: it never holds a credential or an address. Where it is in words of the upstream, the
   * message of `cause` stands for it in the log.
   */
  constructor(
    code: UpstreamCode,
    message: string,
    options: {
      readonly retryAfterSeconds?: number | undefined;
      readonly status?: number | undefined;
      readonly begun?: boolean;
      readonly told?: ToldRefusal | undefined;
      readonly usage?: Usage | undefined;
      readonly length?: number | undefined;
      readonly cause?: Error | undefined;
    } = {},
  ) {
    super(message);
    this.cause = options.cause;
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.status = options.status;
    this.begun = options.begun ?? true;
    this.told = options.told;
    this.usage = options.usage;
    this.length = options.length;
  }
}
