import type { RequestText } from '../../rules/text/request-text.ts';
import type { TokenNeed } from '../account/counts.ts';
import type { GenerateRequest, Upstream, WrittenRequest } from '../upstream/port.ts';

export type Answers = Required<Omit<TokenNeed, 'estimatedTokens' | 'turns'>>;

/** In Weir's own form. */
export interface StrictTask extends TokenNeed {
  readonly upstream: Upstream;
  readonly request: GenerateRequest;
  /** For policies: the request has only what the upstream gets. */
  readonly metadata: RequestText['metadata'];
}

/** Judged in a thread; no object comes back. */
export interface LargeTask extends TokenNeed {
  readonly images: number;
  /** JSON in the form of messages, for policies. */
  readonly text: Uint8Array;
  /** The upstream's maximum, if it gets one. */
  readonly most: number | undefined;
  /** From `Upstream.written`. */
  readonly written: WrittenRequest['written'];
}

/** Large, and written by a thread. */
export interface WrittenTask extends Omit<LargeTask, 'written'> {
  readonly upstream: Upstream;
  readonly request: WrittenRequest;
}

export const isWrittenTask = (task: StrictTask | WrittenTask): task is WrittenTask => 'text' in task;

export const tokensOf = ({ estimatedTokens, maxTokens }: TokenNeed): number => estimatedTokens + maxTokens;
