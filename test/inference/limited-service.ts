import { adminRoute } from '../../src/admin/admin-route.ts';
import type { Cancellation } from '../../src/cancellation.ts';
import type { Clock, Millis } from '../../src/clock.ts';
import { AccessLog } from '../../src/data/access/access-log.ts';
import { apiKeyGate } from '../../src/data/access/authenticate.ts';
import type { Directory, Inactive } from '../../src/data/access/directory.ts';
import type { AdminPrincipal, Principal, ProjectPrincipal } from '../../src/data/access/principal.ts';
import { chatRoute } from '../../src/data/api/chat/chat.ts';
import { creditsRoute } from '../../src/data/api/credits.ts';
import { countTokensRoute } from '../../src/data/api/messages/count-tokens.ts';
import { messagesRoute } from '../../src/data/api/messages/messages.ts';
import { modelsRoutes } from '../../src/data/api/models/models.ts';
import { responsesRoute } from '../../src/data/api/responses/responses.ts';
import { type After, realAfter } from '../../src/data/reply/event-output.ts';
import type {
  Chunk,
  GenerateOptions,
  GenerateRequest,
  MessagesPassing,
  PassedEvents,
  Upstream,
} from '../../src/data/upstream/port.ts';
import type { Tier, TierTable } from '../../src/domain/organization/tiers.ts';
import { serve } from '../../src/http/listen/server.ts';
import { digest, newToken } from '../../src/ids.ts';
import type { AdministrationLimits } from '../../src/limits/families.ts';
import type { OwnLimitsSource } from '../../src/limits/own-limits.ts';
import type { Trouble } from '../../src/limits/window/window-store.ts';
import { noTokens } from '../../src/tokens.ts';
import { memoryAccounts } from '../support/accounts.ts';
import { testWindows } from '../support/test-windows.ts';
import { upToDate } from '../support/up-to-date.ts';
import { hosted, model } from './hosted.ts';
import { manualClock } from './manual-clock.ts';
import { answer, usage } from './scripted-upstream.ts';

const pepper = 'a'.repeat(64);

/** An upstream whose answers wait until they are let go, and end when they are aborted. */
class HeldUpstream implements Upstream {
  readonly asked: GenerateRequest[] = [];
  /** Bodies that have passed. */
  readonly passed: Readonly<Record<string, unknown>>[] = [];
  /** Whether answers come at once. */
  free = true;
  usage = usage({ input_tokens: 10, output_tokens: 20, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 });
  /** Deltas that a stream sends before it waits. */
  deltas: readonly string[] = [];
  failure: Error | null = null;
  #waiting: (() => void)[] = [];

  get held(): number {
    return this.#waiting.length;
  }

  async answer(request: GenerateRequest, options: GenerateOptions) {
    this.asked.push(request);
    await this.turn(options.signal);
    if (this.failure) throw this.failure;
    return answer({ usage: this.usage });
  }

  async *stream(request: GenerateRequest, { signal }: GenerateOptions): AsyncGenerator<Chunk> {
    this.asked.push(request);
    yield { type: 'start', usage: { ...this.usage, output_tokens: 0 } };
    yield { type: 'block_start', index: 0, block: { type: 'text', text: '' } };
    for (const text of this.deltas) yield { type: 'block_delta', index: 0, delta: { type: 'text_delta', text } };
    await this.turn(signal);
    if (this.failure) throw this.failure;
    yield { type: 'block_stop', index: 0 };
    yield { type: 'end', stop_reason: 'end_turn', stop_sequence: null, usage: this.usage };
  }

  /** The same for models that pass requests on, whatever their API. */
  get passing(): NonNullable<Upstream['passing']> {
    const pass: MessagesPassing = {
      answer: async ({ body }, { signal }) => {
        this.passed.push(JSON.parse(body.toString()));
        await this.turn(signal);
        return { body: Buffer.from('{}'), usage: this.usage, outputBytes: 0 };
      },
      stream: ({ body }, { signal }) => this.#passes(body, signal),
      countTokens: () => Promise.resolve(null),
    };
    return { messages: pass, chat: pass, responses: pass };
  }

  async *#passes(body: Buffer, signal: Cancellation): AsyncGenerator<PassedEvents> {
    this.passed.push(JSON.parse(body.toString()));
    const events = Buffer.from('data: {}\n\n');
    const outputBytes = Buffer.byteLength(this.deltas.join(''));
    yield { start: null, events, usage: noTokens, outputBytes, ended: false };
    await this.turn(signal);
    yield { start: null, events, usage: this.usage, outputBytes, ended: true };
  }

  /** Lets the oldest `count` go. */
  release(count = 1): void {
    for (const go of this.#waiting.splice(0, count)) go();
  }

  /** Waits until it is let go. */
  async turn(signal: Cancellation): Promise<void> {
    signal.throwIfAborted();
    if (this.free) return;
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push(resolve);
      signal.addEventListener('abort', () => {
        this.#waiting = this.#waiting.filter((each) => each !== resolve);
        reject(signal.reason);
      });
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  readonly body: any;
}

export interface LimitedOptions {
  readonly tier?: Tier;
  readonly tiers?: TierTable;
  readonly own?: OwnLimitsSource;
  readonly administration?: AdministrationLimits;
  readonly trustedProxies?: string;
  /** By default one that stands still until it is told to go on. */
  readonly clock?: Clock & { readonly after: After; advance(ms: Millis): void };
}

/** Time that goes on by itself and can be sent ahead. */
export const leapingClock = () => {
  let ahead = 0;
  return {
    wall: () => Date.now() + ahead,
    monotonic: () => performance.now() + ahead,
    after: realAfter,
    advance(ms: Millis) {
      ahead += ms;
    },
  };
};

/** The inference routes and two of the administration behind the real gate, over HTTP, with time in the test's hands. */
export const limitedService = async (options: LimitedOptions = {}) => {
  const clock = options.clock ?? manualClock();
  const known = new Map<string, Principal | Inactive>();
  const directory: Directory = {
    find: (hashed) => known.get(hashed) ?? null,
    committing() {},
    cleared() {},
    committed() {},
    refuse() {},
  };
  const troubles: Trouble[] = [];
  const state = { tier: options.tier ?? 0 };
  const windows = testWindows(0, {
    tierOf: () => state.tier,
    report: (trouble) => troubles.push(trouble),
    own: options.own,
    ...(options.tiers && { tiers: options.tiers }),
    ...(options.administration && { administration: options.administration }),
  });
  const upstream = new HeldUpstream();
  // `p` passes what it is asked, and `m` does not.
  const models = hosted(upstream, model({ passthrough: false }), model({ id: 'p' }));
  const accounts = memoryAccounts({ prompt: '0.000001', completion: '0.00001' });
  let made = 0;
  const served = [model()];
  const server = await serve<Principal>({
    routes: [
      messagesRoute({ models, clock, answerId: () => 'msg_1', after: clock.after }),
      countTokensRoute(models),
      chatRoute({ models, clock, answerId: () => 'chatcmpl-1', after: clock.after }),
      responsesRoute({ models, clock, answerId: () => 'resp_1', after: clock.after }),
      ...modelsRoutes({ models: () => served, ownedBy: 'weir', hasCredit: () => false }),
      creditsRoute({ balanceOf: () => ({ credits: 0, usage: 0 }), ageMs: () => 0 }),
      adminRoute('projects:read', {
        method: 'GET',
        path: '/v1/organization/things',
        operation: 'listThings',
        summary: 'For tests',
        replies: { 200: { description: 'Done.' } },
        handle: () => ({ status: 200, body: {} }),
      }),
      adminRoute('projects:write', {
        method: 'POST',
        path: '/v1/organization/things',
        operation: 'makeThing',
        summary: 'For tests',
        replies: { 200: { description: 'Done.' } },
        // Stays in flight until the upstream lets it go.
        handle: async ({ signal }) => {
          await upstream.turn(signal);
          return { status: 200, body: {} };
        },
      }),
    ],
    gate: apiKeyGate({
      accounts,
      directory,
      peppers: [pepper],
      clock,
      accessLog: new AccessLog(clock),
      windows,
      knowledge: upToDate,
    }),
    host: '127.0.0.1',
    port: 0,
    requestId: () => `req_${String(++made).padStart(26, '0')}`,
    clock,
    trustedProxies: options.trustedProxies,
  });
  const give = (kind: 'p' | 'a', found: Principal | Inactive): string => {
    const token = newToken(kind);
    known.set(digest(pepper, token), found);
    return token;
  };
  return {
    clock,
    windows,
    upstream,
    accounts,
    server,
    troubles,
    /** The tier of every organization. */
    state,
    port: server.port,
    known,
    /** A project key; by default key_1 of proj_1 of org_1. */
    key: (fields: Partial<ProjectPrincipal> = {}): string =>
      give('p', {
        kind: 'project_key',
        id: 'key_1',
        name: 'k',
        organizationId: 'org_1',
        organizationStatus: 'active',
        projectId: 'proj_1',
        projectName: 'p',
        allowedModels: null,
        modelAliases: null,
        tier: state.tier,
        permissions: new Set(['models:read', 'inference:create', 'credits:read']),
        expiresAt: null,
        ...fields,
      }),
    adminKey: (fields: Partial<AdminPrincipal> = {}): string =>
      give('a', {
        kind: 'admin_key',
        id: 'akey_1',
        name: 'a',
        organizationId: 'org_1',
        organizationStatus: 'active',
        permissions: new Set(['projects:read', 'projects:write']),
        expiresAt: null,
        ...fields,
      }),
    inactiveKey: (reason: Inactive['inactive'], id = 'key_1', fields: Partial<Inactive> = {}): string =>
      give('p', {
        inactive: reason,
        kind: 'project_key',
        id,
        organizationId: 'org_1',
        projectId: 'proj_1',
        ...fields,
      }),
    async ask(
      token: string | null,
      method: string,
      path: string,
      { body, headers = {}, signal }: { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal } = {},
    ): Promise<Asked> {
      const sent = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
      const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
        method,
        headers: {
          ...(token !== null && { authorization: `Bearer ${token}` }),
          ...(sent !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(sent !== undefined && { body: sent }),
        ...(signal && { signal }),
      });
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.startsWith('application/json');
      return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : null };
    },
    stop: () => server.drain(0),
  };
};

export type LimitedService = Awaited<ReturnType<typeof limitedService>>;

/** Asks for an answer of so many tokens; its input is estimated at 8 + 1. */
export const message = (max_tokens: number, more: object = {}) => ({
  model: 'm',
  max_tokens,
  messages: [{ role: 'user', content: 'abc' }],
  ...more,
});
/** The tokens that `message` reserves beyond its `max_tokens`. */
export const inputTokens = 9;
