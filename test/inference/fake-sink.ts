import type { Sink } from '../../src/http/route.ts';

export interface ServerSentEvent {
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape.
  readonly data: any;
}

/** A client that can stop reading and can leave. */
export class FakeSink implements Sink {
  readonly writes: string[] = [];
  gone = false;
  /** Whether it has room; while false, writes are kept and answered with false. */
  reads = true;
  #waiting: (() => void)[] = [];

  write(chunk: string | Uint8Array): boolean {
    if (!this.gone) this.writes.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    return this.reads;
  }

  last(chunk: string | Uint8Array): void {
    this.write(chunk);
  }

  drained(): Promise<void> {
    if (this.reads || this.gone) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  resume(): void {
    this.reads = true;
    this.#wake();
  }

  leave(): void {
    this.gone = true;
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  get text(): string {
    return this.writes.join('');
  }

  /** Every event so far; throws on a frame that is not one `event:` and one `data:` line. */
  get events(): ServerSentEvent[] {
    const frames = this.text.split('\n\n');
    if (frames.pop() !== '') throw new Error('the last frame is not complete');
    return frames.map((frame) => {
      const [, event, data] = /^event: ([a-z_.]+)\ndata: ([^\r\n]*)$/.exec(frame) ?? [];
      if (event === undefined || data === undefined) throw new Error(`not an event: ${frame}`);
      return { event, data: JSON.parse(data) };
    });
  }
}
