import type { Answer, Chunk, GenerateOptions, GenerateRequest, Upstream } from '../../src/data/upstream/port.ts';

export const usage = (fields: Partial<Answer['usage']> = {}): Answer['usage'] => ({
  input_tokens: 7,
  output_tokens: 5,
  cache_creation_input_tokens: 2,
  cache_read_input_tokens: 3,
  ...fields,
});

export const answer = (fields: Partial<Answer> = {}): Answer => ({
  content: [{ type: 'text', text: 'Hello.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: usage(),
  ...fields,
});

/** A chunk, a failure, or something to wait for. */
export type Step = Chunk | Error | (() => Promise<void>);

/** An upstream that does what it is told and remembers what it was asked. */
export class ScriptedUpstream implements Upstream {
  readonly requests: GenerateRequest[] = [];
  options: GenerateOptions | null = null;
  /** Chunks handed out. */
  pulled = 0;
  /** Whether the stream was left before its end, or after it. */
  returned = false;
  #answer: Answer | Error | (() => Promise<Answer>) = answer();
  #steps: readonly Step[] = [];

  answers(what: Answer | Error | (() => Promise<Answer>)): this {
    this.#answer = what;
    return this;
  }

  streams(...steps: readonly Step[]): this {
    this.#steps = steps;
    return this;
  }

  async answer(request: GenerateRequest, options: GenerateOptions): Promise<Answer> {
    this.requests.push(request);
    this.options = options;
    if (this.#answer instanceof Error) throw this.#answer;
    return typeof this.#answer === 'function' ? this.#answer() : this.#answer;
  }

  async *stream(request: GenerateRequest, options: GenerateOptions): AsyncGenerator<Chunk> {
    this.requests.push(request);
    this.options = options;
    try {
      for (const step of this.#steps) {
        options.signal.throwIfAborted();
        if (step instanceof Error) throw step;
        if (typeof step === 'function') {
          await step();
          continue;
        }
        this.pulled += 1;
        yield step;
      }
    } finally {
      this.returned = true;
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
