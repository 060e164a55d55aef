import type { Api } from '../../apis.ts';

/** Values of a request that its body does not have, or not in the terms of rules. */
export interface Beside {
  readonly endpoint: Api;
  readonly model: string;
  readonly maxTokens: number;
  /** The estimate of the rate limits. */
  readonly inputTokens: number;
  readonly stream: boolean;
}

/** A JSON body that is not read yet. */
export interface RawBody extends Beside {
  readonly body: Uint8Array;
  /** The API of its form, if it is not `endpoint`. */
  readonly form?: Api;
}

/** A sample of a request. Unspecified: its text does not have its tools. */
export interface RequestText extends Beside {
  /** As in the messages API. */
  readonly system?: unknown;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly { readonly name: string }[] | undefined;
  /** Only strings count. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
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
