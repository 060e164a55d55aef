import { refusal } from '../../errors.ts';
import { failure } from '../../http/error-envelopes.ts';
import type { Refused } from '../../http/refused.ts';
import type { Call, Family, Reply } from '../../http/route.ts';
import { ThreadPool } from '../../threads/thread-pool.ts';
import { NoThread } from '../../threads/worker-thread.ts';
import type { ProjectPrincipal } from '../access/principal.ts';
import { largeEntry } from '../large-place.ts';
import { type DeclaredModel, withoutCredentials } from '../upstream/models/models.ts';
import { type LargeApi, type LargeJob, type LargeRead, received } from './handed-over.ts';
import type { ServedTo } from './named-model.ts';
import { anywhere, here, type Prepare } from './prepare.ts';
import type { Prepared } from './prepared.ts';

/** At most so many bodies at once, each with a bounded heap. */
const threads = { most: 2, mostOfOne: 2 };
const heap = 1024;
/** Bodies of one organization, read or waiting. */
const mostOfOne = 16;
/** Wait included: the worst body takes two seconds of a thread. */
const deadlineMillis = 5000;

export interface LargeBodies {
  read(job: LargeJob): Promise<LargeRead | null>;
  /** Bodies being read finish with the old models. */
  replace(models: readonly DeclaredModel[]): void;
  close(): Promise<void>;
}

class Threads {
  readonly #pool: ThreadPool<LargeJob, LargeRead>;
  #jobs = 0;
  #isReplaced = false;

  constructor(models: readonly DeclaredModel[]) {
    this.#pool = new ThreadPool({ entry: largeEntry, data: withoutCredentials(models), heap }, threads, deadlineMillis);
  }

  async read(job: LargeJob): Promise<LargeRead | null> {
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

/** A copy, because uWebSockets lends its memory for one step. */
export interface LargeBody {
  readonly large: Buffer;
}

/** Reads a body, or leaves it to a thread if there are any. */
export const readHere =
  <Said>(prepare: Prepare<Said>, threads: boolean) =>
  (bytes: Buffer, principal: ServedTo): Prepared<Said> | LargeBody | Refused =>
    prepare(bytes, principal, threads ? here : anywhere) ?? { large: Buffer.from(bytes) };

export type InferenceCall<Body> = Call<ProjectPrincipal, Record<string, never>, Record<string, never>, Body, undefined>;

/** Large bodies are read in a thread first. */
export const withLarge =
  <Said>(
    large: Pick<LargeBodies, 'read'> | undefined,
    { api, family }: { readonly api: LargeApi; readonly family: Family },
    handle: (call: InferenceCall<unknown>, asked: Prepared<Said>) => Reply | Promise<Reply>,
  ) =>
  (call: InferenceCall<Prepared<Said> | LargeBody>): Reply | Promise<Reply> => {
    const { body, head, principal } = call;
    if (!('large' in body)) return handle(call, body);
    const { organizationId, allowedModels, modelAliases } = principal;
    const job = { api, body: body.large, served: { organizationId, allowedModels, modelAliases } };
    return large!.read(job).then((read): Reply | Promise<Reply> => {
      if (read === null) return failure(refusal('server_busy'), family, head.requestId);
      if ('fault' in read) throw new Error(`A large body could not be read: ${read.fault}`);
      if ('refused' in read) return failure(read.refused, family, head.requestId);
      return handle(call, received(read.prepared) as Prepared<Said>);
    });
  };
