import { Agent, type IncomingMessage, request } from 'node:http';
import type { Address } from '../gen/connection.ts';
import type { Flight } from './concurrency-oracle.ts';
import type { Attempt } from './window-oracle.ts';

/** A key and where it belongs. */
export interface Holder {
  readonly key: string;
  readonly project: string;
}

const now = (): number => performance.now();
const refused = 429;

/** A client that notes when it sent and what it saw; it counts nothing itself. */
export class Client {
  readonly #address: Address;
  readonly #agent = new Agent({ keepAlive: true, noDelay: true, maxSockets: 256 });

  constructor(address: Address) {
    this.#address = address;
  }

  /** `GET /v1/models`, the cheapest request that counts. @throws Error for an answer that is neither 200 nor 429 */
  async attempt({ key, project }: Holder, isPatient = false): Promise<Attempt> {
    const sent = now();
    const response = await this.#send('GET', '/v1/models', key, null);
    const received = now();
    for await (const _ of response);
    const status = response.statusCode ?? 0;
    if (status !== 200 && status !== refused) throw new Error(`GET /v1/models was answered with ${status}.`);
    const advice = response.headers['retry-after'];
    const retryAfter = advice === undefined ? null : Number(advice);
    return { key, project, sent, received, isRefused: status === refused, retryAfter, isPatient };
  }

  /** A streamed message, whatever becomes of it. @param abortAfterMs leaves it in its middle; null reads it to its end */
  async stream(
    { key, project }: Holder,
    model: string,
    maxTokens: number,
    abortAfterMs: number | null,
  ): Promise<Flight> {
    const messages = [{ role: 'user', content: 'Tell me about the weir.' }];
    const body = JSON.stringify({ model, max_tokens: maxTokens, stream: true, messages });
    const sent = now();
    const abort = new AbortController();
    const timer = abortAfterMs === null ? null : setTimeout(() => abort.abort(), abortAfterMs);
    let head: number | null = null;
    let last: number | null = null;
    let lastButOne: number | null = null;
    let isRefused = false;
    let isCut = false;
    try {
      const response = await this.#send('POST', '/v1/messages', key, body, abort.signal);
      head = now();
      isRefused = response.statusCode === refused;
      for await (const _ of response) {
        lastButOne = last;
        last = now();
      }
    } catch {
      isCut = true;
    } finally {
      if (timer !== null) clearTimeout(timer);
    }
    const ended = now();
    return { key, project, sent, head, openUntil: isCut ? last : lastButOne, ended, isRefused, isCut };
  }

  /** Headers of one answer: whether the server says anything of its limits. */
  async headers({ key }: Holder): Promise<IncomingMessage['headers']> {
    const response = await this.#send('GET', '/v1/models', key, null);
    for await (const _ of response);
    return response.headers;
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(
    method: string,
    path: string,
    key: string,
    body: string | null,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    const { host, port } = this.#address;
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body === null ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    return new Promise((resolve, reject) => {
      const options = { host, port, method, path, headers, agent: this.#agent, ...(signal ? { signal } : {}) };
      const sent = request(options, resolve);
      sent.on('error', reject);
      sent.end(body ?? undefined);
    });
  }
}
