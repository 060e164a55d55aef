import type { Cancellation } from '../../../cancellation.ts';
import type { Clock, Millis } from '../../../clock.ts';
import type { DeclaredSimulated } from '../models/model-schema.ts';
import {
  type Answer,
  type Chunk,
  type GenerateOptions,
  type GenerateRequest,
  type Upstream,
  UpstreamError,
  type Written,
  type WrittenRequest,
} from '../port.ts';
import { sleep as realSleep, type Sleep } from '../sleep.ts';
import { isWritten } from '../transport/written.ts';
import { isWebSearch } from '../web-search.ts';
import { chunksOf } from './chunks.ts';
import { simulate } from './simulated-answer.ts';

export interface SimulatedDependencies {
  readonly clock: Clock;
  readonly sleep?: Sleep | undefined;
}

/** Deterministic, with exact token counts and the declared delays. Fails only for unsupported schemas. */
export const simulatedUpstream = (
  declared: DeclaredSimulated,
  { clock, sleep = realSleep }: SimulatedDependencies,
): Upstream => ({
  repeatable: true,
  inexpressible: ({ tools = [] }) => {
    const search = tools.findIndex(isWebSearch);
    if (search === -1) return null;
    return {
      path: ['tools', search, 'type'],
      message: 'A simulated model does not search.',
      code: 'unsupported_parameter',
    };
  },
  async answer(request, { signal }): Promise<Answer> {
    if (signal.aborted) throw signal.reason;
    const answer = answerTo(request, declared);
    const wait = declared.first_token_ms + Math.max(0, answer.usage.output_tokens - 1) * declared.token_ms;
    if (wait > 0) await sleep(wait, signal);
    return answer;
  },
  stream: (request, options) => ({
    [Symbol.asyncIterator]: () => new Paced(declared, request, options, clock, sleep),
  }),
  written: (request, purpose) => [purpose === 'count' ? null : answerOrFailure(request as GenerateRequest, declared)],
  close: () => Promise.resolve(),
});

const answerTo = (request: GenerateRequest | WrittenRequest, declared: DeclaredSimulated): Answer => {
  if (!isWritten(request)) return simulate(request, declared);
  const [written] = request.written;
  if (written == null || 'body' in written) throw new Error('The request was written for another upstream.');
  if ('answer' in written) return written.answer;
  const { code, message, status, told } = written.failure;
  throw new UpstreamError(code, message, { status, told });
};

const answerOrFailure = (request: GenerateRequest, declared: DeclaredSimulated): Written => {
  try {
    return { answer: simulate(request, declared) };
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    const { code, message, status, told } = error;
    return { failure: { code, message, status, told } };
  }
};

const done: IteratorResult<Chunk> = { done: true, value: undefined };

/** Timed from the first step, so delays do not add up. An async generator costs three promises per chunk. */
class Paced implements AsyncIterator<Chunk> {
  readonly #declared: DeclaredSimulated;
  #request: GenerateRequest | WrittenRequest | null;
  readonly #signal: Cancellation;
  readonly #clock: Clock;
  readonly #sleep: Sleep;
  #chunks: Generator<Chunk, void, undefined> | null = null;
  #began: Millis = 0;
  #produced = 0;
  #ended = false;

  constructor(
    declared: DeclaredSimulated,
    request: GenerateRequest | WrittenRequest,
    options: GenerateOptions,
    clock: Clock,
    sleep: Sleep,
  ) {
    this.#declared = declared;
    this.#request = request;
    this.#signal = options.signal;
    this.#clock = clock;
    this.#sleep = sleep;
  }

  next(): Promise<IteratorResult<Chunk>> {
    if (this.#ended) return Promise.resolve(done);
    if (this.#signal.aborted) return this.#abort();
    if (this.#request !== null) {
      try {
        this.#chunks = chunksOf(answerTo(this.#request, this.#declared), this.#declared.tokens_per_delta);
      } catch (error) {
        this.#ended = true;
        return Promise.reject(error);
      }
      this.#request = null;
      this.#began = this.#clock.monotonic();
    }
    const step = this.#chunks!.next();
    if (step.done === true) {
      this.#ended = true;
      return Promise.resolve(done);
    }
    const due = this.#due(step.value);
    const wait = due > 0 ? due - (this.#clock.monotonic() - this.#began) : 0;
    return wait > 0 ? this.#after(wait, step) : Promise.resolve(step);
  }

  return(): Promise<IteratorResult<Chunk>> {
    this.#ended = true;
    return Promise.resolve(done);
  }

  /** Milliseconds after the first step at which the last token of the chunk is there. */
  #due(chunk: Chunk): Millis {
    const { first_token_ms, token_ms, tokens_per_delta } = this.#declared;
    if (chunk.type === 'block_delta' && chunk.delta.type !== 'signature_delta') this.#produced += tokens_per_delta;
    return first_token_ms + Math.max(0, this.#produced - 1) * token_ms;
  }

  async #after(wait: Millis, step: IteratorResult<Chunk>): Promise<IteratorResult<Chunk>> {
    try {
      await this.#sleep(wait, this.#signal);
    } catch {
      return this.#abort();
    }
    return this.#ended ? done : step;
  }

  #abort(): Promise<never> {
    this.#ended = true;
    return Promise.reject(this.#signal.reason);
  }
}
