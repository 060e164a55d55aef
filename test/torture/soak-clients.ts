import { setTimeout as wait } from 'node:timers/promises';
import { complain, type Figures } from './figures.ts';
import type { Random } from './random.ts';
import { type Answer, freshnessMs, type Key, type Site } from './soak-site.ts';

/** So many keys, and a project is left for the next: it has room for a thousand that live. */
const keysInProject = 200;
const paceMs = [50, 250] as const;
/** Before what was refused is sent once more. */
const againMs = [50, 500] as const;
/** Nobody asks a gateway about one key more often than that. */
const pollMs = 25;

/** What was told and acknowledged, kept outside of the gateways and their store. */
export class Ledger {
  /** Keys by their names, which are all different. */
  readonly keys = new Map<string, Key>();
  /** The newest name of each project. */
  readonly projects = new Map<string, string>();
  /** Every name that a project was given, and how often: once each. */
  readonly names: { readonly project: string; readonly name: string }[] = [];
  acknowledged = 0;
  refused = 0;
  repeated = 0;
  inferences = 0;
  /** From its acknowledgement until the other gateway has refused a revoked key, at the most; and until a new key has worked there. */
  refusedAfterMs = 0;
  knownAfterMs = 0;
}

/** Administrators and users of two gateways, who go on whatever happens to the store. */
export class Clients {
  private readonly ledger: Ledger;
  private readonly sites: readonly Site[];
  private readonly random: Random;
  private readonly figures: Figures;
  private readonly following = new Set<Promise<void>>();
  private made = 0;
  /** No more commands are begun, and then no more requests either. */
  isEnough = false;
  isOver = false;
  /** From then on (monotonic) nobody waits for an answer that does not come. */
  givenUpAt = Number.POSITIVE_INFINITY;

  constructor(ledger: Ledger, sites: readonly Site[], random: Random, figures: Figures) {
    this.ledger = ledger;
    this.sites = sites;
    this.random = random;
    this.figures = figures;
  }

  /** Creates projects and keys, renames and revokes. One after another, each until it is acknowledged. */
  async administrate(): Promise<void> {
    let project = await this.newProject();
    const own: Key[] = [];
    while (!this.isEnough) {
      await wait(this.random.between(...paceMs));
      if (own.length >= keysInProject) {
        project = await this.newProject();
        own.length = 0;
      }
      const dice = this.random.next();
      const victim = own.find((key) => !key.isEnding && this.sites.every((site) => site.live.has(key.id)));
      if (dice < 0.15) await this.rename(project);
      else if (dice < 0.5 && victim) await this.revoke(victim);
      else own.push(await this.create(project));
    }
  }

  /** Asks a model, with keys that work here. */
  async infer(site: Site): Promise<void> {
    const body = { model: 'weir-sim-1', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] };
    while (!this.isOver) {
      await wait(this.random.between(20, 80));
      if (site.live.size === 0) continue;
      const key = this.random.pick([...site.live.values()].slice(-50));
      const { status, code, askedAt } = await site.ask('POST', '/v1/messages', key.value, { body });
      this.ledger.inferences++;
      if (status === 200) this.expectNotEnded(site, key, askedAt);
      else if (!(key.isEnding && status === 401))
        complain(this.figures, `${site.name}: inference with ${key.name} was answered ${status} ${code}`);
    }
  }

  /** Presents keys that were refused here once. */
  async presentEnded(site: Site): Promise<void> {
    while (!this.isOver) {
      await wait(pollMs * 2);
      if (site.dead.length > 0) await this.expectEnded(site, this.random.pick(site.dead));
    }
  }

  async expectEnded(site: Site, key: Key): Promise<void> {
    const { status, code } = await site.ask('GET', '/v1/models', key.value);
    if (status !== 401) complain(this.figures, `${site.name}: the revoked ${key.name} was answered ${status} ${code}`);
  }

  /** One key from its beginning to its end at one gateway. */
  async createAndRevoke(site: Site): Promise<void> {
    const key = await this.create([...this.ledger.projects.keys()][0]!, site);
    await this.caughtUp();
    await this.revoke(key, site);
    await this.caughtUp();
  }

  /** Until every new and every ended key is known at both. */
  private async caughtUp(): Promise<void> {
    while (this.following.size > 0) await Promise.all(this.following);
  }

  private async create(project: string, at?: Site): Promise<Key> {
    const name = `key-${this.made++}`;
    const path = `/v1/organization/projects/${project}/api_keys`;
    const more = { body: { name }, once: `soak-${name}` };
    const { answer, by } = await this.until(201, 'POST', path, more, at);
    const madeAt = performance.now();
    const { id, value } = JSON.parse(answer.text) as { id: string; value: string };
    const key: Key = { id, value, name, project, madeAt, isEnding: false, ended: undefined };
    this.ledger.keys.set(name, key);
    // From now on: the repeat may have to wait for a fault to end.
    for (const site of this.sites) this.follow(this.untilKnown(site, key));
    if (this.random.next() < 0.3) {
      this.ledger.repeated++;
      const [again] = this.sites.filter((site) => site !== by);
      const { answer: same } = await this.until(201, 'POST', path, more, again);
      if (same.text !== answer.text) complain(this.figures, `${name} was answered in two ways`);
    }
    return key;
  }

  private async revoke(key: Key, at?: Site): Promise<void> {
    key.isEnding = true;
    for (const site of this.sites) site.live.delete(key.id);
    const path = `/v1/organization/projects/${key.project}/api_keys/${key.id}`;
    const { by } = await this.until(200, 'DELETE', path, {}, at);
    key.ended = { at: performance.now(), by };
    for (const site of this.sites) this.follow(this.untilEnded(site, key));
  }

  private follow(work: Promise<void>): void {
    const done: Promise<void> = work
      .catch((error: Error) => complain(this.figures, `nobody knows of a key: ${error.stack}`))
      .finally(() => this.following.delete(done));
    this.following.add(done);
  }

  private async newProject(): Promise<string> {
    const name = `project-${this.made++}`;
    const more = { body: { name }, once: `soak-${name}` };
    const { answer } = await this.until(201, 'POST', '/v1/organization/projects', more);
    const { id } = JSON.parse(answer.text) as { id: string };
    this.named(id, name);
    return id;
  }

  private async rename(project: string): Promise<void> {
    const name = `project-${this.made++}`;
    await this.until(200, 'POST', `/v1/organization/projects/${project}`, { body: { name } });
    this.named(project, name);
  }

  private named(project: string, name: string): void {
    this.ledger.projects.set(project, name);
    this.ledger.names.push({ project, name });
  }

  /**
   * Sends a command until it is acknowledged, at whichever gateway, the same Idempotency-Key each time. What was told at one
   * of them a moment ago may be unknown at the other.
   */
  private async until(
    wanted: number,
    method: string,
    path: string,
    more: { body?: object; once?: string } = {},
    only?: Site,
  ): Promise<{ readonly answer: Answer; readonly by: Site }> {
    const begun = performance.now();
    for (;;) {
      const by = only ?? this.random.pick(this.sites);
      const answer = await by.command(method, path, more);
      if (answer.status === wanted) {
        this.ledger.acknowledged++;
        return { answer, by };
      }
      const { status, code } = answer;
      const mayBeNew = answer.askedAt - begun <= freshnessMs;
      if (code === 'dependency_unavailable') this.ledger.refused++;
      else if (!(code === 'idempotency_in_progress' || (code === 'project_not_found' && mayBeNew)))
        complain(this.figures, `${by.name}: ${method} ${path} was answered ${status} ${code}`);
      if (performance.now() > this.givenUpAt)
        throw new Error(`${method} ${path} was never acknowledged: ${status} ${code}`);
      await wait(this.random.between(...againMs));
    }
  }

  /** A new key is known at each gateway, and unknown no longer than that may be behind. */
  private async untilKnown(site: Site, key: Key): Promise<void> {
    for (;;) {
      const { status, code, askedAt } = await site.ask('GET', '/v1/models', key.value);
      const { ended, isEnding } = key;
      if (status === 200) {
        if (!isEnding) site.live.set(key.id, key);
        this.ledger.knownAfterMs = Math.max(this.ledger.knownAfterMs, askedAt - key.madeAt);
        return;
      }
      if (ended) return;
      const isNew = askedAt - key.madeAt <= freshnessMs;
      if (!(status === 503 || (status === 401 && isNew)))
        return complain(this.figures, `${site.name}: ${key.name} was answered ${status} ${code} after more than 1 s`);
      if (performance.now() > this.givenUpAt)
        return complain(this.figures, `${site.name}: ${key.name} has never worked`);
      await wait(pollMs);
    }
  }

  /** A revoked key is refused where that was acknowledged, and elsewhere as soon as what was known then is known there. */
  private async untilEnded(site: Site, key: Key): Promise<void> {
    const { at, by } = key.ended!;
    for (;;) {
      const known = await site.knownUntil();
      const { status, askedAt } = await site.ask('GET', '/v1/models', key.value);
      if (status === 401) {
        if (site !== by) this.ledger.refusedAfterMs = Math.max(this.ledger.refusedAfterMs, askedAt - at);
        site.dead.push(key);
        return;
      }
      if (site === by || known >= at)
        return complain(this.figures, `${site.name}: the revoked ${key.name} was answered ${status} all the same`);
      if (performance.now() > this.givenUpAt)
        return complain(this.figures, `${site.name}: ${key.name} was never refused`);
      await wait(pollMs);
    }
  }

  private expectNotEnded(site: Site, key: Key, askedAt: number): void {
    if (key.ended?.by === site && askedAt > key.ended.at)
      complain(this.figures, `${site.name}: inference with the revoked ${key.name} was answered 200`);
  }
}
