import type { AnswerBlock, InputBlock } from '../../upstream/port.ts';

/**
 * A request as rules read it, whichever API it came by: the vocabulary of the upstream port, so that chat completions
 * and responses fill it as messages do. Nothing in here is copied or read before a rule asks for it.
 */
export interface RequestText {
  readonly endpoint: 'messages' | 'chat.completions' | 'responses';
  readonly model: string;
  readonly maxTokens: number;
  /** The estimate that the limits use. */
  readonly inputTokens: number;
  readonly stream: boolean;
  readonly system?: string | readonly InputBlock[] | undefined;
  readonly messages: readonly MessageText[];
  readonly tools?: readonly { readonly name: string }[] | undefined;
  /** Strings only; what is no string is passed over. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

export interface MessageText {
  readonly role: string;
  readonly content: string | readonly InputBlock[];
}

/** A complete answer as rules of the response direction read it. */
export interface ResponseText {
  readonly content: readonly AnswerBlock[];
  readonly stopReason: string;
  readonly outputTokens: number;
}

/** Whose request it is. */
export interface RequestOwner {
  readonly project: { readonly id: string; readonly name: string };
  readonly key: { readonly id: string; readonly name: string };
  readonly org: { readonly id: string; readonly tier: number };
}
