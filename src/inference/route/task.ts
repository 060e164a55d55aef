import type { RequestText } from '../../rules/text/request-text.ts';
import type { GenerateRequest, Upstream, WrittenRequest } from '../../upstream/port.ts';
/** Tokens that a request may use: of its input, estimated, and of the longest answer that it allows (contract F.4). */
export interface TokenNeed {
  readonly estimatedTokens: number;
  readonly maxTokens: number;
  /** Whether the answer may be longer than `maxTokens`, which is then what is reserved at first. */
  readonly grows?: boolean;
  /** The longest that it may be then. */
  readonly longest?: number;
  /** Times that the upstream may ask its model for one answer: several where it runs tools itself. */
  readonly turns?: number;
}

/** What is reserved for the answers to a request that passes. */
export type Answers = Required<Omit<TokenNeed, 'estimatedTokens' | 'turns'>>;

/** A request that its model can honour, in Weir's own form. */
export interface StrictTask extends TokenNeed {
  readonly upstream: Upstream;
  readonly request: GenerateRequest;
  /** For policies: the request has of it no more than the upstream is told. */
  readonly metadata: RequestText['metadata'];
}

/** Judged by its model in the thread that has read it: a request in Weir's own form, of which no object has come back. */
export interface LargeTask extends TokenNeed {
  /** Images that have a price. */
  readonly images: number;
  /** The request as JSON, in the form of messages, as policies see it. */
  readonly text: Uint8Array;
  /** What the upstream is told, where it is told any. */
  readonly most: number | undefined;
  /** As `Upstream.written` makes it. */
  readonly written: WrittenRequest['written'];
}

/** A large one of them, which a thread has written out. */
export interface WrittenTask extends Omit<LargeTask, 'written'> {
  readonly upstream: Upstream;
  readonly request: WrittenRequest;
}

export const isWrittenTask = (task: StrictTask | WrittenTask): task is WrittenTask => 'text' in task;

/** What is reserved for a request (contract F.4). */
export const tokensOf = ({ estimatedTokens, maxTokens }: TokenNeed): number => estimatedTokens + maxTokens;
