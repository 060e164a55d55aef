import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { Failure } from '../../process/failure.ts';
import { askServer, messageOf, type ServerAnswer } from './ask-server.ts';

const page = z.object({ data: z.array(z.object({ id: z.string() })), has_more: z.boolean(), last_id: z.string() });

const timeoutMs = 30_000;
/** Longest wait for the administration's rate limit. */
const longestWaitSeconds = 61;

export class ServerCalls {
  readonly #baseUrl: string;
  readonly #key: string;

  constructor(baseUrl: string, key: string) {
    this.#baseUrl = baseUrl;
    this.#key = key;
  }

  /** The body of a 200, or null for a 404. Waits when rate-limited. @throws Failure for anything else */
  async get(path: string): Promise<unknown> {
    for (;;) {
      const { status, body, retryAfter } = await this.#ask(path);
      if (status === 200) return body;
      if (status === 404) return null;
      if (status !== 429 || !(retryAfter <= longestWaitSeconds)) {
        const why = messageOf(body) ?? 'no reason given';
        throw new Failure(`The server at ${this.#baseUrl} answered ${status}: ${why}`);
      }
      await sleep(retryAfter * 1000);
    }
  }

  /** The ids of all projects, newest first, archived ones included. */
  async *projects(): AsyncGenerator<string> {
    for (let after = ''; ; ) {
      const body = await this.get(`/v1/organization/projects?limit=100&order=desc&include_archived=true${after}`);
      const { data, has_more, last_id } = page.parse(body);
      for (const { id } of data) yield id;
      if (!has_more) return;
      after = `&after=${encodeURIComponent(last_id)}`;
    }
  }

  async #ask(path: string): Promise<ServerAnswer> {
    try {
      return await askServer(`${this.#baseUrl}${path}`, this.#key, timeoutMs);
    } catch (cause) {
      const advice = 'weir status says whether one runs here; --url names another.';
      throw new Failure(
        `The server at ${this.#baseUrl} cannot be asked: ${(cause as Error).message}. ${advice}`,
        1,
        cause,
      );
    }
  }
}
