import { setTimeout as wait } from 'node:timers/promises';
import { complain, type Figures, type Plan } from '../figures.ts';
import { seeded } from '../random.ts';
import { Scene } from '../scene.ts';
import { attack } from './attacks.ts';
import { agentOf, ask, askModel, bearer, runErrand } from './clients.ts';
import { firstHeld, type Site, slots, startSite, until } from './site.ts';

/** Honest clients that ask one thing after another, and those that wait for a model. */
const [askers, waiters] = [4, 8];
/** An answer that is waited for is given when so many connections have been made since. */
const heldFor = 40;
const mostHeldMs = 10_000;
const healthMs = 5_000;
/** Connections of one gateway. */
const most = 5_000;
/** Part of them that comes as it ends. */
const lateShare = 0.1;
const endMs = 60_000;
const protections = ['handler', 'turn', 'close'] as const;

/** What this process has kept others waiting for. */
const lagging = (scene: Scene) => {
  let last = performance.now();
  let worst = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last - 20);
    last = now;
  }, 20);
  scene.later(() => clearInterval(timer));
  return {
    take: () => {
      const taken = worst;
      worst = 0;
      return taken;
    },
  };
};

/** One gateway, from its start to its end under attack. */
class Round {
  private readonly site: Site;
  private readonly figures: Figures;
  private readonly lag: ReturnType<typeof lagging>;
  private hasEnded = false;
  private isQuiet = false;
  private isEnding = false;
  private question = 0;
  worstHealth = 0;

  constructor(scene: Scene, site: Site, figures: Figures) {
    this.site = site;
    this.figures = figures;
    this.lag = lagging(scene);
    site.gateway.onEnd(() => {
      this.hasEnded = true;
      complain(figures, `the gateway has ended: ${site.words()}`);
    });
  }

  private get isOver(): boolean {
    return this.hasEnded;
  }

  private wrong(what: string): void {
    if (!this.hasEnded) complain(this.figures, what);
  }

  /** Health on a new connection, again and again. */
  private async watch(): Promise<void> {
    while (!this.isOver && !this.isQuiet && !this.isEnding) {
      this.lag.take();
      const { status, isWhole, ms } = await ask(this.site.front, { path: '/v1/health' });
      const own = this.lag.take();
      if (this.isEnding || this.isOver) return;
      this.worstHealth = Math.max(this.worstHealth, ms - own);
      if (status !== 200 || !isWhole) this.wrong(`health was answered ${status}`);
      else if (ms - own > healthMs)
        this.wrong(`health took ${Math.round(ms)} ms, of which ${Math.round(own)} were ours`);
      else this.figures.acknowledged++;
      await wait(50);
    }
  }

  private async askOn(): Promise<void> {
    const agent = agentOf(this.site.front);
    while (!this.isOver && !this.isQuiet) {
      const n = this.question++;
      const { heard, fault } = await runErrand(this.site.front, this.site.known, n, agent);
      const { status, isReused, isWhole } = heard;
      if (fault === undefined) this.figures.acknowledged++;
      else if (status === 0 && isReused) continue;
      else if (this.isEnding && ((status === 503 && isWhole) || status === 0)) break;
      else this.wrong(`client ${n}: ${fault}`);
    }
    agent.destroy();
  }

  private async waitFor(at: () => number): Promise<void> {
    const { front, known } = this.site;
    while (!this.isOver && !this.isQuiet && !this.isEnding) {
      const n = firstHeld + this.question++;
      const began = at();
      const late = performance.now() + mostHeldMs;
      let isLetGo = false;
      const heard = askModel(front, known.projectKey, n, n % 2 === 0);
      void heard.then(() => {
        isLetGo = true;
      });
      const isHeld = () => at() < began + heldFor && performance.now() < late;
      while (!isLetGo && !this.isOver && !this.isQuiet && !this.isEnding && isHeld()) await wait(5);
      while (!isLetGo) {
        this.site.letGo();
        await wait(5);
      }
      const { status, text, isWhole } = await heard;
      if (this.isEnding && (status === 503 || status === 0)) return;
      if (status === 200 && isWhole && text.includes(`the answer to ${n}.`)) this.figures.acknowledged++;
      else this.wrong(`a client that waited for ${n} was answered ${status} ${text.slice(0, 200)}`);
    }
  }

  /** Nothing is kept of connections that have gone. */
  private async expectNothingKept(): Promise<void> {
    for (const name of ['weir_http_requests_in_flight', 'weir_http_streams_open', 'weir_http_buffered_bytes']) {
      let last = Number.NaN;
      const holds = async () => {
        if (this.isOver) return 0;
        // None where the gateway has just ended, which its exit tells.
        last = await this.site.gauge(name).catch(() => Number.NaN);
        return last === 0 ? last : undefined;
      };
      await until('', holds).catch(() => this.wrong(`${name} stays at ${last}`));
    }
    if (this.isOver) return;
    const { front, attackers } = this.site;
    const before = this.site.held();
    const asked = Array.from({ length: slots }, () =>
      askModel(front, attackers.project, firstHeld + this.question++, false),
    );
    let answered = 0;
    for (const each of asked) void each.then(() => answered++);
    await until(
      'slots of a key',
      () => this.isOver || answered > 0 || this.site.held() - before === slots || undefined,
    );
    this.site.letGo();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    if (statuses.some((status) => status !== 200)) this.wrong(`the slots of a key are kept: ${statuses}`);
    const listed = await ask(front, { path: '/v1/organization', headers: bearer(attackers.admin) });
    if (listed.status !== 200) this.wrong(`an administrator was answered ${listed.status}`);
  }

  private async end(): Promise<void> {
    const { child } = this.site.gateway;
    const exited = new Promise<string>((resolve) => child.once('exit', (code, signal) => resolve(`${code ?? signal}`)));
    this.isEnding = true;
    let late: NodeJS.Timeout | undefined;
    const waited = new Promise<string>((resolve) => {
      late = setTimeout(() => resolve('not at all'), endMs);
    });
    const stopped = this.site.gateway.stop();
    const how = await Promise.race([exited, waited]);
    clearTimeout(late);
    if (how !== '0') complain(this.figures, `at SIGTERM the gateway ended with ${how}: ${this.site.words()}`);
    else await stopped;
  }

  async run(seed: number, from: number, count: number): Promise<void> {
    const complained = (what: string) => this.wrong(what);
    const before = this.figures.cycles;
    const attacks = attack(this.site, seed, () => this.isOver, complained);
    const following = setInterval(() => {
      this.figures.cycles = before + attacks.made;
    }, 50);
    const beside = (): Promise<unknown> =>
      Promise.all([
        this.watch(),
        ...Array.from({ length: askers }, () => this.askOn()),
        ...Array.from({ length: waiters }, () => this.waitFor(() => attacks.made)),
      ]);
    try {
      const late = Math.ceil(count * lateShare);
      const clients = beside();
      await attacks.run(from, count - late);
      attacks.leave();
      this.isQuiet = true;
      await clients;
      if (!this.isOver) await this.expectNothingKept();
      if (this.isOver) return;
      this.isQuiet = false;
      const others = beside();
      const attacking = attacks.run(from + count - late, late);
      const at = attacks.made + seeded(seed, from).between(0, late);
      await until('no attack', () => this.isOver || attacks.made >= at || undefined);
      const ending = this.end();
      await Promise.all([attacking, others, ending]);
      attacks.leave();
    } finally {
      clearInterval(following);
      this.figures.cycles = before + attacks.made;
    }
    for (const line of this.site.errors) complain(this.figures, `the log has ${line.slice(0, 500)}`);
  }
}

const rounds = async (
  { count, seed, from = 0, canary = false }: Plan,
  figures: Figures,
  off?: string,
): Promise<number> => {
  const each = canary ? count : Math.min(most, Math.ceil(count / 2));
  let worst = 0;
  for (let at = from, round = 0; at < from + count; at += each, round++) {
    const scene = new Scene();
    try {
      scene.goOn();
      const site = await startSite(scene, round % 2 === 1, off);
      const one = new Round(scene, site, figures);
      await one.run(seed, at, Math.min(each, from + count - at));
      worst = Math.max(worst, one.worstHealth);
    } finally {
      await scene.end();
    }
  }
  return worst;
};

/**
 * FRONT: pipelines of 1 to 10,000 requests of every kind on connections that are reset, left, half closed or not read at any
 * byte, at the listener (plain and over TLS in turns), at the port of the metrics and at the store's socket; at the end of
 * each gateway beside SIGTERM. Honest clients ask beside them. The gateway goes on, each answer goes to who has asked, health
 * is told within five seconds, and nothing is kept of who has gone. The canaries' gateways have no handler of a response's
 * end, answer in the callback that brings the request, or are not told of an end.
 */
export async function torturedAtTheFront(plan: Plan, figures: Figures): Promise<void> {
  if (!plan.canary) {
    const worst = await rounds(plan, figures);
    figures.notes.push(`health took ${Math.round(worst)} ms at most`);
    return;
  }
  for (const off of protections) {
    const before = figures.wrong;
    await rounds(plan, figures, off);
    if (figures.wrong === before) throw new Error(`nothing was noticed of the protection ${off}, which was off`);
  }
}
