import type { AnswerBlock } from '../../upstream/port.ts';

/**
 * A request as rules read it, whichever API it came by. Nothing in here is copied or read before a rule asks for it.
 */
export interface RequestText {
  readonly endpoint: 'messages' | 'chat.completions' | 'responses';
  readonly model: string;
  readonly maxTokens: number;
  /** The estimate that the limits use. */
  readonly inputTokens: number;
  readonly stream: boolean;
  /** Content, as of a message. */
  readonly system?: unknown;
  readonly messages: readonly MessageText[];
  readonly tools?: readonly { readonly name: string }[] | undefined;
  /** All else of the request that a model may be given: definitions of tools, schemas, fields that Weir does not know. */
  readonly others?: unknown;
  /** Strings only; what is no string is passed over. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

export interface MessageText {
  readonly role: string;
  /** A string or blocks, of whichever API. */
  readonly content: unknown;
}

/** A complete answer as rules of the response direction read it. */
export interface ResponseText {
  readonly content: readonly (AnswerBlock | { readonly type: string; readonly [field: string]: unknown })[];
  readonly stopReason: string;
  readonly outputTokens: number;
  /** All else that the client is given: whatever is said twice in it counts once. */
  readonly others?: unknown;
}

/** Whose request it is. */
export interface RequestOwner {
  readonly project: { readonly id: string; readonly name: string };
  readonly key: { readonly id: string; readonly name: string };
  readonly org: { readonly id: string; readonly tier: number };
}
