import { randomUUID } from 'node:crypto';
import type { Millis } from '../clock.ts';
import { messages, shared } from './client/client-internals.ts';
import type { RawEvent } from './client/raw-event.ts';
import type { RetryPolicy } from './client/retry-policy.ts';

/** Events to write unchanged to one stream, all or none. */
export interface RawAppend {
  readonly stream: string;
  /** Revision of the event before; -1 for a new stream. */
  readonly expected: bigint;
  readonly events: readonly RawEvent[];
}

export type RawAnswer =
  | { readonly is: 'written'; readonly position: bigint }
  | { readonly is: 'wrong-version' | 'deleted' }
  /** `limit`: the largest size of an append, where that was exceeded. */
  | { readonly is: 'refused'; readonly reason: string; readonly limit?: number | undefined };

type Request = InstanceType<typeof messages.BatchAppendReq>;
type Response = InstanceType<typeof messages.BatchAppendResp>;

export interface BatchCall {
  write(request: Request): unknown;
  cancel(): unknown;
  on(event: 'data', listener: (response: Response) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

interface Pending {
  readonly append: RawAppend;
  readonly resolve: (answer: RawAnswer) => void;
  readonly reject: (error: unknown) => void;
}

export interface OrderedAppendsOptions {
  readonly open: () => Promise<BatchCall>;
  readonly retry: RetryPolicy;
  readonly silenceMs: Millis;
}

/** Appends on one call in order. After a loss all unanswered ones are sent again; their ids prevent duplicates. */
export class OrderedAppends {
  private readonly options: OrderedAppendsOptions;
  /** Unanswered appends in order, by correlation id. */
  private readonly pending = new Map<string, Pending>();
  private call: Promise<BatchCall> | undefined;
  private silence: NodeJS.Timeout | undefined;
  /** Between a loss and the next try. */
  private waiting = false;

  constructor(options: OrderedAppendsOptions) {
    this.options = options;
  }

  /** @returns the store's answer. @throws the final error of the retries */
  add(append: RawAppend): Promise<RawAnswer> {
    const correlation = randomUUID();
    return new Promise((resolve, reject) => {
      this.pending.set(correlation, { append, resolve, reject });
      if (this.waiting) return;
      if (this.pending.size === 1) this.listen();
      this.call ??= this.connect();
      void this.call.then(
        // Built for each write, because hundreds of pending messages would load the garbage collector.
        (call) => call.write(requestOf(append, correlation)),
        () => {},
      );
    });
  }

  close(): void {
    this.unlisten();
    void this.call?.then(
      (call) => call.cancel(),
      () => {},
    );
  }

  private async connect(): Promise<BatchCall> {
    try {
      const call = await this.options.open();
      let lost = false;
      const onLoss = (error: unknown) => {
        if (lost) return;
        lost = true;
        void this.reconnect(error);
      };
      call.on('error', onLoss);
      call.on('data', (response) => {
        if (!lost) this.answered(response);
      });
      return call;
    } catch (error) {
      void this.reconnect(error);
      throw error;
    }
  }

  private async reconnect(error: unknown): Promise<void> {
    this.unlisten();
    this.call = undefined;
    if (this.pending.size === 0) return;
    this.waiting = true;
    try {
      await this.options.retry.failed(error);
    } catch (final) {
      for (const { reject } of this.pending.values()) reject(final);
      this.pending.clear();
      return;
    } finally {
      this.waiting = false;
    }
    this.listen();
    const call = this.connect();
    this.call = call;
    await call.then(
      (open) => {
        for (const [correlation, { append }] of this.pending) open.write(requestOf(append, correlation));
      },
      () => {},
    );
  }

  private unlisten(): void {
    clearTimeout(this.silence);
    this.silence = undefined;
  }

  /** The client does not detect a silent connection. */
  private listen(): void {
    if (this.silence) {
      this.silence.refresh();
      return;
    }
    this.silence = setTimeout(() => {
      void this.call?.then(
        (call) => call.cancel(),
        () => {},
      );
    }, this.options.silenceMs);
  }

  private answered(response: Response): void {
    const correlation = response.getCorrelationId()?.getString() ?? '';
    const pending = this.pending.get(correlation);
    if (pending === undefined) return;
    const { is, error } = outcomeOf(response);
    if (error !== undefined) {
      // The outcome is unknown, as after a loss.
      void this.call?.then((call) => call.cancel());
      return;
    }
    this.options.retry.progress();
    this.pending.delete(correlation);
    if (this.pending.size === 0) this.unlisten();
    else this.listen();
    pending.resolve(is);
  }
}

function outcomeOf(response: Response): { is: RawAnswer; error?: undefined } | { is?: undefined; error: string } {
  const refusal = response.getError();
  if (refusal === undefined) {
    const position = response.getSuccess()?.getPosition()?.getCommitPosition() ?? '0';
    return { is: { is: 'written', position: BigInt(position) } };
  }
  const detail = refusal.getDetails()?.getTypeName().split('.').at(-1) ?? '';
  if (detail === 'WrongExpectedVersion') return { is: { is: 'wrong-version' } };
  if (detail === 'StreamDeleted') return { is: { is: 'deleted' } };
  if (detail === 'Timeout') return { error: detail };
  const said = refusal.getMessage();
  const reason = said.includes(detail) ? said : `${detail} ${said}`.trim();
  const limit = limitOf(detail, refusal.getDetails()?.getValue_asU8());
  return { is: { is: 'refused', reason, limit } };
}

/** Real nodes give the number only for the limit of an append, not of an event. */
const limitOf = (detail: string, value: Uint8Array | undefined): number | undefined =>
  value === undefined || detail !== 'MaximumAppendSizeExceeded'
    ? undefined
    : shared.MaximumAppendSizeExceeded.deserializeBinary(value).getMaxappendsize();

function requestOf({ stream, expected, events }: RawAppend, correlation: string): Request {
  const options = new messages.BatchAppendReq.Options();
  options.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(stream)));
  if (expected < 0n) options.setNoStream(emptyMessage());
  else options.setStreamPosition(String(expected));
  const request = new messages.BatchAppendReq();
  request.setOptions(options);
  request.setCorrelationId(new shared.UUID().setString(correlation));
  request.setIsFinal(true);
  for (const event of events) {
    const proposed = new messages.BatchAppendReq.ProposedMessage();
    proposed.setId(new shared.UUID().setString(event.id));
    proposed.getMetadataMap().set('type', event.type);
    proposed.getMetadataMap().set('content-type', event.isJson ? 'application/json' : 'application/octet-stream');
    proposed.setCustomMetadata(event.metadata);
    proposed.setData(event.data);
    request.addProposedMessages(proposed);
  }
  return request;
}

/** The field wants google.protobuf.Empty, which is equal to the shared one. */
const emptyMessage = () => new shared.Empty() as unknown as Parameters<Options['setNoStream']>[0];
type Options = InstanceType<typeof messages.BatchAppendReq.Options>;
