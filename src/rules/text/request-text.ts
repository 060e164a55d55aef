/** A request of any API as rules read it; nothing is copied before a rule needs it. */
export interface RequestText {
  readonly endpoint: 'messages' | 'chat.completions' | 'responses';
  readonly model: string;
  readonly maxTokens: number;
  /** The estimate of the rate limits. */
  readonly inputTokens: number;
  readonly stream: boolean;
  readonly system?: unknown;
  readonly messages: readonly MessageText[];
  readonly tools?: readonly { readonly name: string }[] | undefined;
  /** Everything else that a model may be given: tools, schemas, unknown fields. */
  readonly others?: unknown;
  /** Only strings count. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

export interface MessageText {
  readonly role: string;
  /** A string or blocks of any API. */
  readonly content: unknown;
}

export interface ResponseText {
  readonly content: readonly (
    | { readonly type: string }
    | { readonly type: string; readonly [field: string]: unknown }
  )[];
  readonly stopReason: string;
  readonly outputTokens: number;
  /** Everything else that the client is given; repeated strings count once. */
  readonly others?: unknown;
}

export interface RequestOwner {
  readonly project: { readonly id: string; readonly name: string };
  readonly key: { readonly id: string; readonly name: string };
  readonly org: { readonly id: string; readonly tier: number };
}
