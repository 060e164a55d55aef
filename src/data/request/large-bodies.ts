import { refusal } from '../../errors.ts';
import { failure } from '../../http/error-envelopes.ts';
import type { Call, Family, Reply } from '../../http/route.ts';
import { ThreadPool } from '../../threads/thread-pool.ts';
import { NoThread } from '../../threads/worker-thread.ts';
import type { ProjectPrincipal } from '../access/principal.ts';
import { largeEntry } from '../large-place.ts';
import { type DeclaredModel, withoutCredentials } from '../upstream/models/models.ts';
import type { Passing } from '../upstream/port.ts';
import type { Asked, BodyReader, LargeBody, ReadBody } from './body-reader.ts';
import { type Models, namedModel } from './named-model.ts';
import type { LargeApi, LargeJob, LargeRead } from './read-large.ts';

/** At most so many bodies at once, each with a bounded heap. */
const threads = { most: 2, mostOfOne: 2 };
const heap = 1024;
/** Bodies of one organization, read or waiting. */
const mostOfOne = 16;
/** Wait included: the worst body takes two seconds of a thread. */
const deadlineMillis = 5000;

export interface LargeBodies {
  read(job: LargeJob): Promise<LargeRead<unknown, unknown> | null>;
  /** Bodies being read finish with the old models. */
  replace(models: readonly DeclaredModel[]): void;
  close(): Promise<void>;
}

class Threads {
  readonly #pool: ThreadPool<LargeJob, LargeRead<unknown, unknown>>;
  #jobs = 0;
  #isReplaced = false;

  constructor(models: readonly DeclaredModel[]) {
    this.#pool = new ThreadPool({ entry: largeEntry, data: withoutCredentials(models), heap }, threads, deadlineMillis);
  }

  async read(job: LargeJob): Promise<LargeRead<unknown, unknown> | null> {
    this.#jobs++;
    try {
      const { organizationId } = job.served;
      const task = () => ({ job, lent: [job.body.buffer as ArrayBuffer] });
      const { results } = await this.#pool.run(organizationId, task, 1);
      return results[0] ?? null;
    } finally {
      this.#jobs--;
      this.#endIfIdle();
    }
  }

  replaced(): void {
    this.#isReplaced = true;
    this.#endIfIdle();
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #endIfIdle(): void {
    if (this.#isReplaced && this.#jobs === 0) void this.close();
  }
}

export const openLargeBodies = (models: readonly DeclaredModel[]): LargeBodies => {
  let current = new Threads(models);
  const reading = new Map<string, number>();
  return {
    async read(job) {
      const { organizationId } = job.served;
      const others = reading.get(organizationId) ?? 0;
      if (others >= mostOfOne) return null;
      reading.set(organizationId, others + 1);
      try {
        return await current.read(job);
      } catch (error) {
        if (error instanceof NoThread) return null;
        throw error;
      } finally {
        const left = reading.get(organizationId)! - 1;
        if (left === 0) reading.delete(organizationId);
        else reading.set(organizationId, left);
      }
    },
    replace(next) {
      current.replaced();
      current = new Threads(next);
    },
    close: () => current.close(),
  };
};

type InferenceCall<Body> = Call<ProjectPrincipal, Record<string, never>, Record<string, never>, Body, undefined>;

interface Taking<Rest, Fields, P extends Passing> {
  readonly api: LargeApi;
  readonly family: Family;
  readonly models: Models;
  readonly reader: Pick<BodyReader<Rest, Fields, P>, 'passing'>;
}

/** Large bodies are read in a thread first. */
export const withLarge =
  <Rest extends Asked, Fields extends Asked, P extends Passing>(
    large: Pick<LargeBodies, 'read'> | undefined,
    { api, family, models, reader }: Taking<Rest, Fields, P>,
    handle: (call: InferenceCall<unknown>, body: ReadBody<Rest, Fields, P>) => Reply | Promise<Reply>,
  ) =>
  (call: InferenceCall<ReadBody<Rest, Fields, P> | LargeBody>): Reply | Promise<Reply> => {
    const { body, head, principal } = call;
    if (!('large' in body)) return handle(call, body);
    const { organizationId, allowedModels, modelAliases } = principal;
    const job = { api, body: body.large, served: { organizationId, allowedModels, modelAliases } };
    return large!.read(job).then((made): Reply | Promise<Reply> => {
      if (made === null) return failure(refusal('server_busy'), family, head.requestId);
      const read = made as LargeRead<Rest, Fields>;
      if ('fault' in read) throw new Error(`A large body could not be read: ${read.fault}`);
      if ('refusal' in read) return failure(read.refusal, family, head.requestId);
      const asked = 'strict' in read ? read.strict : read.passed.fields;
      const hosted = namedModel(models, asked.model, principal);
      // The models were replaced during the read.
      if (hosted?.model.id !== read.id)
        return failure(refusal('model_not_found', { param: 'model' }), family, head.requestId);
      if ('strict' in read) {
        const { strict, judged } = read;
        return handle(call, { strict, passed: null, ...(judged && { judged }) });
      }
      const { body: outgoing, ...passed } = read.passed;
      const bytes = Buffer.from(outgoing.buffer, outgoing.byteOffset, outgoing.byteLength);
      const passing = hosted && reader.passing(hosted.upstream);
      if (!passing) return failure(refusal('model_not_found', { param: 'model' }), family, head.requestId);
      return handle(call, { strict: null, passed: { ...passed, passing, bytes: () => bytes } });
    });
  };
