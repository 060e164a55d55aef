import type { Cancellation } from '../../cancellation.ts';
import type { Usage } from '../../tokens.ts';
import type { WebSearch } from './web-search.ts';

/** In the terms of the messages API (contract G.1–G.5). Requests have been validated. */

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
export type AnswerBlock = TextBlock | ToolUseBlock | ThinkingBlock | RedactedThinkingBlock;

/** Also an image, document or tool_result; unknown fields are kept. */
export interface InputBlock {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface Message {
  readonly role: 'user' | 'assistant' | 'system';
  /** The speaker, from chat completions; a block of the system prompt has it itself. */
  readonly name?: string | null | undefined;
  /** Empty for a user who says nothing. */
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
  /** The signature comes in any case. */
  readonly display?: 'summarized' | 'omitted' | undefined;
}

export interface GenerateRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly Message[];
  readonly system?: string | readonly InputBlock[] | undefined;
  readonly temperature?: number | undefined;
  readonly top_p?: number | undefined;
  readonly top_k?: number | undefined;
  readonly stop_sequences?: readonly string[] | undefined;
  readonly tools?: readonly (Tool | WebSearch)[] | undefined;
  readonly tool_choice?: ToolChoice | undefined;
  readonly thinking?: Thinking | undefined;
  readonly output_config?:
    | {
        readonly format?:
          | {
              readonly type: 'json_schema';
              readonly schema: Readonly<Record<string, unknown>>;
              /** As clients of chat completions and responses say; null if they do not. */
              readonly strict?: boolean | null | undefined;
            }
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

export type Purpose = 'answer' | 'stream' | 'count';

/** The client's names of tools, by those that the upstream knows, where they differ. */
export type ReadBack = ReadonlyMap<string, string>;

export interface WrittenBody<Bytes = Uint8Array> {
  readonly body: Bytes;
  /** To be read back in the answer. */
  readonly toolNames?: ReadBack | undefined;
}

/** What one upstream sends, or the answer of a simulated model: plain data from another thread. */
export type Written =
  | WrittenBody
  | { readonly answer: Answer }
  | { readonly failure: Pick<UpstreamError, 'code' | 'message' | 'status' | 'told'> };

/** All that remains of a large request, read in another thread (contract A.3). */
export interface WrittenRequest {
  readonly model: string;
  /** By `Upstream.written`, for the same purpose. */
  readonly written: readonly (Written | null)[];
}

export type StopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use';

export interface Answer {
  readonly content: readonly AnswerBlock[];
  readonly stop_reason: StopReason;
  readonly stop_sequence: string | null;
  readonly usage: Usage;
}

/** Blocks never interleave; indexes count from 0. */
export type Chunk =
  | { readonly type: 'start'; readonly usage: Usage }
  /** The block is empty; only `redacted_thinking` is whole. */
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

export const emptied = (block: AnswerBlock): AnswerBlock => {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: '' };
    case 'tool_use':
      return { ...block, input: {} };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'redacted_thinking':
      return block;
  }
};

export interface GenerateOptions {
  /** Ends the work at the upstream; the promise or iteration rejects with the signal's reason. */
  readonly signal: Cancellation;
  readonly requestId: string;
  /** Called when the upstream is known to have begun. */
  readonly began?: (() => void) | undefined;
  /** Usage without any of the answer; none if the next upstream is asked; the total if the answer breaks off. */
  readonly counted?: ((usage: Usage) => void) | undefined;
  /** Called before further bytes of a whole answer are kept. @throws AnswerUnwanted without room */
  readonly hold?: ((bytes: number) => void) | undefined;
  /** W3C Trace Context for the upstream. */
  readonly trace?: { readonly traceparent: string; readonly tracestate?: string } | undefined;
}

export interface PassedRequest {
  readonly body: Buffer;
  /** Replaces the answer's own id and model. */
  readonly id: string;
  readonly model: string;
  readonly hidesUsage?: boolean | undefined;
  /** Only Weir asks for encrypted reasoning: an upstream that refuses it is asked again without. */
  readonly addsReasoning?: boolean | undefined;
  /** How many answers are asked for; default 1. */
  readonly choices?: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

export interface PassedAnswer {
  readonly body: Buffer;
  readonly usage: Usage;
  /** Of text, thinking and tool input; 0 if the upstream has counted tokens. */
  readonly outputBytes: number;
}

export interface PassedEvents {
  /** `message_start`, in the first piece only. */
  readonly start: Buffer | null;
  readonly events: Buffer;
  readonly usage: Usage;
  readonly outputBytes: number;
  /** The message has ended, and `usage` is final. */
  readonly ended: boolean;
}

/** An API that the upstream speaks itself, for clients that speak it too. */
export interface Passing {
  /** The member of chat completions that names the longest answer; absent if the model's servers differ in it. */
  readonly maximum?: string | undefined;
  answer(request: PassedRequest, options: GenerateOptions): Promise<PassedAnswer>;
  /** The first piece has the first event after the start. Rejects with an UpstreamError. */
  stream(request: PassedRequest, options: GenerateOptions): AsyncIterable<PassedEvents>;
}

export interface MessagesPassing extends Passing {
  /** Null if the upstream does not count. @throws UpstreamError */
  countTokens(request: PassedRequest, options: GenerateOptions): Promise<number | null>;
}

export interface Inexpressible {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly code: 'unsupported_parameter' | 'unsupported_content_block';
}

/** Neither `answer` nor `stream` keeps the request: what is needed later is held once, in the form that is sent. */
export interface Upstream {
  answer(request: GenerateRequest | WrittenRequest, options: GenerateOptions): Promise<Answer>;
  /** May reject with an UpstreamError at any step; `end` is yielded once, last. */
  stream(request: GenerateRequest | WrittenRequest, options: GenerateOptions): AsyncIterable<Chunk>;
  /** Null if it can be sent; absent if every request can. Others must not reach `answer` or `stream`. */
  inexpressible?(request: GenerateRequest): Inexpressible | null;
  /** What is sent instead of the request, in the same form: its input is what is estimated. Absent if it is the request. */
  asSent?<T extends CountRequest>(request: T): T;
  /** As `MessagesPassing.countTokens`; absent where the upstream cannot count. */
  countTokens?(request: CountRequest | WrittenRequest, options: GenerateOptions): Promise<number | null>;
  /** Called in a thread, by upstream; null if it cannot express the request. Absent if never used. */
  written?(request: GenerateRequest | CountRequest, purpose: Purpose): readonly (Written | null)[];
  readonly repeatable?: true;
  /** It takes no smaller maximum of an answer; absent if it takes each. */
  readonly leastTokens?: number;
  /** By API; absent if none passes. */
  readonly passing?: {
    readonly messages?: MessagesPassing;
    readonly chat?: Passing;
    readonly responses?: Passing;
    /** Of an upstream that answers nothing else. */
    readonly embeddings?: Passing;
  };
  close(): Promise<void>;
}

/** The requester gave the answer up: no failure of the upstream. */
export class AnswerUnwanted extends Error {
  override readonly name: string = 'AnswerUnwanted';
}

export type UpstreamCode =
  | 'provider_error'
  | 'provider_overloaded'
  | 'provider_timeout'
  | 'context_length_exceeded'
  | 'content_refused'
  | 'invalid_request'
  | 'request_too_large';

/** Further fields of an error in the form of contract E.1. */
export interface ToldRefusal {
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
  /** 1 to 30 s. */
  readonly retryAfterSeconds: number | undefined;
  /** With which the upstream answered, if it did. */
  readonly status: number | undefined;
  /** Whether the upstream may have worked for the answer. If not, another can be asked without a double charge. */
  readonly begun: boolean;
  readonly told: ToldRefusal | undefined;
  /** Counted for an answer that was discarded. */
  readonly usage: Usage | undefined;
  /** The length of the upstream's message, in characters. */
  readonly length: number | undefined;
  /** For the log, without text of the upstream, which may quote the request. */
  get reason(): string {
    return (this.cause ?? this).message;
  }

  /** `message` is for clients: no credential or address. If it quotes the upstream, the log has `cause`. */
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
