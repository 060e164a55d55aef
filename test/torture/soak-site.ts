import { setTimeout as wait } from 'node:timers/promises';
import { complain, type Figures } from './figures.ts';

/** A project key, as its makers and users know it. */
export interface Key {
  readonly id: string;
  readonly value: string;
  readonly name: string;
  readonly project: string;
  /** When its creation was acknowledged. Times are of this process's monotonic clock, which the gateways share. */
  readonly madeAt: number;
  /** Somebody has begun to revoke it: from now on it may be refused. */
  isEnding: boolean;
  /** When and where its revocation was acknowledged. */
  ended: { readonly at: number; readonly by: Site } | undefined;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly code: string | undefined;
  readonly askedAt: number;
}

/** What a gateway may not know yet of another's: then it says 401 or 404, and once it is behind by more 503 (contract K.1). */
export const freshnessMs = 1_000;
/** No command takes longer (contract K.1). */
const commandMs = 5_000;
/** What a timer of 5 s and an answer through two processes may take beyond that on a machine at rest. */
const timerMs = 100;
const pingEveryMs = 50;

interface Ping {
  readonly from: number;
  to: number;
}

let asked = 0;

/** One gateway, as its clients meet it. */
export class Site {
  readonly name: string;
  /** Keys that have worked here and that nobody has begun to revoke. */
  readonly live = new Map<string, Key>();
  /** Keys that have been refused here once after their revocation. */
  readonly dead: Key[] = [];
  longestCommandMs = 0;
  /** The process is gone. */
  isDown = false;
  private readonly baseUrl: string;
  private readonly adminKey: string;
  private readonly figures: Figures;
  /** Questions that need no store, one after another: how long they wait is what the machine has no time for. */
  private readonly pings: Ping[] = [];
  private readonly waiting = new Set<() => void>();

  constructor(name: string, baseUrl: string, adminKey: string, figures: Figures) {
    this.name = name;
    this.baseUrl = baseUrl;
    this.adminKey = adminKey;
    this.figures = figures;
  }

  /** @throws TypeError where there is no answer */
  async ask(method: string, path: string, key: string | null, more: { body?: object; once?: string } = {}) {
    const askedAt = performance.now();
    asked++;
    const response = await fetch(`${this.baseUrl}${path}`, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(more.body && { 'content-type': 'application/json' }),
        ...(more.once !== undefined && { 'idempotency-key': more.once }),
        // Whoever presents a key that is not known yet comes from an address of its own: each may do so sixty times a minute.
        'x-forwarded-for': `198.51.${(asked >> 8) & 255}.${asked & 255}`,
      },
      ...(more.body && { body: JSON.stringify(more.body) }),
    });
    const text = await response.text();
    const code = response.ok ? undefined : (JSON.parse(text) as { error?: { code?: string } }).error?.code;
    return { status: response.status, text, code, askedAt } satisfies Answer;
  }

  /** One attempt at a command, with the time that it took. */
  async command(method: string, path: string, more: { body?: object; once?: string } = {}): Promise<Answer> {
    const answer = await this.ask(method, path, this.adminKey, more);
    const now = performance.now();
    const took = now - answer.askedAt;
    this.longestCommandMs = Math.max(this.longestCommandMs, took);
    if (took > commandMs + timerMs) {
      // What the machine keeps a gateway from it keeps commands from too: on their way in, and at the end of their time.
      const held = 2 * (await this.longestWait(answer.askedAt, now));
      if (took > commandMs + timerMs + held) {
        const beside = `where questions without a store took ${Math.round(held / 2)} ms`;
        complain(
          this.figures,
          `${this.name}: ${method} ${path} was answered ${answer.status} after ${Math.round(took)} ms, ${beside}`,
        );
      }
    }
    if (answer.status < 300) {
      for (const wake of this.waiting) wake();
      this.waiting.clear();
    }
    return answer;
  }

  /** Resolves with the next command that is acknowledged here, or after `ms`; whether there was one. */
  nextCommand(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const late = setTimeout(() => resolve(false), ms);
      this.waiting.add(() => {
        clearTimeout(late);
        resolve(true);
      });
    });
  }

  async keepAsking(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const ping = { from: performance.now(), to: Number.POSITIVE_INFINITY };
      this.pings.push(ping);
      if (this.pings.length > 1_000) this.pings.shift();
      await wait(pingEveryMs);
      const { status } = await this.ask('GET', '/v1/health', null);
      ping.to = performance.now() - pingEveryMs;
      if (status !== 200) complain(this.figures, `${this.name}: GET /v1/health was answered ${status}`);
    }
  }

  /** Since when at the latest everything that had happened is known here, as this gateway says itself. */
  async knownUntil(): Promise<number> {
    const { text, askedAt } = await this.ask('GET', '/v1/ready?verbose=1', null);
    const age = /"age_ms":(\d+)|may be (\d+) ms old/.exec(text);
    return age === null ? Number.NEGATIVE_INFINITY : askedAt - Number(age[1] ?? age[2]) - 1;
  }

  /** Every page of a list; when a key was last used is written down now and then. */
  async list(path: string): Promise<string[]> {
    const items: string[] = [];
    for (let after = ''; ; ) {
      const { status, text } = await this.ask(
        'GET',
        `${path}${path.includes('?') ? '&' : '?'}limit=100${after}`,
        this.adminKey,
      );
      if (status !== 200) throw new Error(`${this.name}: ${path} was answered ${status} ${text}`);
      const page = JSON.parse(text) as { data: Record<string, unknown>[]; has_more: boolean; last_id: string };
      for (const item of page.data) items.push(JSON.stringify({ ...item, last_used_at: null }));
      if (!page.has_more) return items;
      after = `&after=${page.last_id}`;
    }
  }

  private async longestWait(from: number, to: number): Promise<number> {
    // The one that is under way belongs to it.
    while (this.pings.some((ping) => ping.from <= to && ping.to === Number.POSITIVE_INFINITY)) await wait(10);
    const beside = this.pings.filter((ping) => ping.to >= from && ping.from <= to);
    return Math.max(0, ...beside.map((ping) => ping.to - ping.from));
  }
}
