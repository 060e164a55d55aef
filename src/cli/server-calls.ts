import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { Failure } from '../app/failure.ts';
import { printable, UsageError } from './terminal.ts';

const refusal = z.object({ error: z.object({ message: z.string() }) });
const page = z.object({ data: z.array(z.object({ id: z.string() })), has_more: z.boolean(), last_id: z.string() });

const timeoutMs = 30_000;
/** Longest wait of a command for the administration's own limits. */
const longestWaitSeconds = 61;

/** A base URL without the slashes at its end. @throws UsageError for what is none */
export const baseUrlOf = (text: string): string => {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new UsageError(`${printable(text)} is not a URL such as http://127.0.0.1:8080.`);
  const { username, password } = new URL(text);
  if (username !== '' || password !== '') throw new UsageError('Give the URL without a user and a password.');
  return text.replace(/\/+$/, '');
};

/** Calls to the administration of a running server, for commands that only it can answer. */
export class ServerCalls {
  readonly #baseUrl: string;
  readonly #key: string;

  /** @throws Failure for what is no base URL */
  constructor(baseUrl: string, key: string) {
    if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError('The Admin key has characters that no key has.');
    this.#baseUrl = baseUrlOf(baseUrl);
    this.#key = key;
  }

  /** The body of a 200, or null for a 404. Waits where it has asked too often. @throws Failure for anything else */
  async get(path: string): Promise<unknown> {
    for (;;) {
      const { status, body, retryAfter } = await this.#ask(path);
      if (status === 200) return body;
      if (status === 404) return null;
      if (status !== 429 || !(retryAfter <= longestWaitSeconds)) {
        const { data } = refusal.safeParse(body);
        throw new Failure(
          `The server at ${this.#baseUrl} answered ${status}: ${data?.error.message ?? 'no reason given'}`,
        );
      }
      await sleep(retryAfter * 1000);
    }
  }

  /** The ids of all projects, the newest first, archived ones too. */
  async *projects(): AsyncGenerator<string> {
    for (let after = ''; ; ) {
      const body = await this.get(`/v1/organization/projects?limit=100&order=desc&include_archived=true${after}`);
      const { data, has_more, last_id } = page.parse(body);
      for (const { id } of data) yield id;
      if (!has_more) return;
      after = `&after=${encodeURIComponent(last_id)}`;
    }
  }

  async #ask(path: string): Promise<{ status: number; body: unknown; retryAfter: number }> {
    try {
      const response = await fetch(`${this.#baseUrl}${path}`, {
        headers: { authorization: `Bearer ${this.#key}` },
        signal: AbortSignal.timeout(timeoutMs),
        // A key must not follow to another place.
        redirect: 'error',
      });
      const text = await response.text();
      const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
      return { status: response.status, body: parse(text), retryAfter };
    } catch (cause) {
      const reason = (cause as { cause?: Error }).cause?.message ?? (cause as Error).message;
      const advice = 'weir status says whether one runs here; --url names another.';
      throw new Failure(`The server at ${this.#baseUrl} cannot be asked: ${printable(reason)}. ${advice}`, 1, cause);
    }
  }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};
