import type { GenerateRequest, Upstream } from '../../upstream/port.ts';

/** Tokens that a request may use: of its input, estimated, and of the longest answer that it allows (contract F.4). */
export interface TokenNeed {
  readonly estimatedTokens: number;
  readonly maxTokens: number;
  /** Whether the answer may be longer than `maxTokens`, which is then what is reserved at first. */
  readonly grows?: boolean;
  /** The longest that it may be then. */
  readonly longest?: number;
}

/** What is reserved for the answers to a request that passes. */
export type Answers = Required<Omit<TokenNeed, 'estimatedTokens'>>;

/** A request that its model can honour, in Weir's own form. */
export interface StrictTask extends TokenNeed {
  readonly upstream: Upstream;
  readonly request: GenerateRequest;
}

/** What is reserved for a request (contract F.4). */
export const tokensOf = ({ estimatedTokens, maxTokens }: TokenNeed): number => estimatedTokens + maxTokens;
