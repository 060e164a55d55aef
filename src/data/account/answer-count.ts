import type { Account, Meter } from '../../http/route.ts';
import { noTokens, type Usage } from '../../tokens.ts';
import { UpstreamError } from '../upstream/port.ts';
import { believed, type Most, mostTokensOf, outputOf, sentTokens, type TokenNeed, tokensTaken } from './counts.ts';
import { type Growth, growthOf } from './growth.ts';

/** What has come of an answer. */
export interface Count {
  readonly usage: Usage;
  /** Of text, thinking and tool input; 0 if the upstream has counted tokens. */
  readonly outputBytes: number;
}

/** Of a stream: so far, or where it has ended. */
export interface StreamCount extends Count {
  readonly ended: boolean;
}

export interface AnswerCountOptions {
  readonly account: Account;
  /** The account's, or one around it. */
  readonly meter: Meter;
  readonly need: TokenNeed;
  readonly contextLength: number;
  readonly searches: number;
}

/**
 * Counts an answer into the account of its request: the tokens of its limits and the charge are kept current, so that an answer
 * that is cut off is charged for what was sent (contract F.4, M.2).
 */
export class AnswerCount {
  readonly #account: Account;
  readonly #meter: Meter;
  readonly #estimatedInput: number;
  readonly #most: Most;
  readonly #grow: Growth;
  #outputBytes = 0;
  #whole: { readonly counted: Usage; readonly sent: number } | null = null;

  constructor({ account, meter, need, contextLength, searches }: AnswerCountOptions) {
    this.#account = account;
    this.#meter = meter;
    this.#estimatedInput = need.estimatedTokens;
    this.#most = mostTokensOf(need, contextLength, searches);
    this.#grow = growthOf(account, need);
    // Once asked, the input is spent whatever comes.
    account.spent = need.estimatedTokens;
  }

  /** Usage that the upstream reports beside an answer. */
  counted(usage: Usage): void {
    const bytes = this.#outputBytes;
    this.#meter.progress(believed(usage, this.#most, bytes), sentTokens(bytes, this.#most));
  }

  /** A streamed answer so far, or before its last byte is sent. @param status the client's, at its end */
  add({ usage, outputBytes, ended }: StreamCount, status = 200): void {
    this.#outputBytes = outputBytes;
    const counted = believed(usage, this.#most, outputBytes);
    const sent = sentTokens(outputBytes, this.#most);
    const output = ended ? outputOf(counted, sent) : sent;
    this.#account.spent = tokensTaken(counted, output, this.#estimatedInput);
    // Also of an answer that comes in one piece: it has a first one.
    this.#meter.progress(counted, sent);
    if (ended) this.#meter.complete(counted, sent, status);
    else this.#grow(sent);
  }

  /** An answer in one piece, which is not released yet. @param written bytes of its text, asked where the count may be too high */
  arrived({ usage, outputBytes }: Count, written: () => number): void {
    const isBeyond = outputBytes === 0 && usage.output_tokens > this.#most.output;
    const counted = believed(usage, this.#most, isBeyond ? written() : outputBytes);
    const sent = sentTokens(outputBytes, this.#most);
    this.#whole = { counted, sent };
    this.#account.spent = tokensTaken(counted, outputOf(counted, sent), this.#estimatedInput);
  }

  /** The answer that has arrived is about to be sent, or a refusal in its place. @param status the client's */
  completeWhole(status: number): void {
    const { counted, sent } = this.#whole!;
    this.#account.settle();
    this.#meter.complete(counted, sent, status);
  }

  /** Bytes of an answer for which there is no room; not only text. */
  withheld(bytes: number): void {
    const sent = sentTokens(bytes, this.#most);
    this.#account.spent = tokensTaken(noTokens, sent, this.#estimatedInput);
    // An answer without output was made all the same.
    const usage = sent === 0 ? { ...noTokens, input_tokens: this.#estimatedInput } : noTokens;
    this.#meter.progress(usage, sent);
  }

  /** Charges what the upstream counted, or else what came of an answer. */
  fail(error: unknown, status: number): void {
    const usage = error instanceof UpstreamError ? error.usage : undefined;
    if (usage === undefined) this.#meter.fail(status);
    else this.#meter.complete(believed(usage, this.#most), 0, status);
  }

  /** To be awaited before the last byte is sent. */
  get written(): Promise<unknown> | undefined {
    return this.#meter.written;
  }
}
