import { expect } from 'vitest';
import { auditKeyOf, auditRows } from '../../../projections/audit-log.ts';
import { AccessRecords } from '../../../src/admin/audit/access-records.ts';
import { credentialOf } from '../../../src/admin/credential.ts';
import { expireKeys } from '../../../src/admin/keys/expiry.ts';
import { organizationReactions } from '../../../src/admin/organization/organization-reactions.ts';
import { policyReactions } from '../../../src/admin/policies/policy-reactions.ts';
import { adminKeyReactions, keyReactions, replayReactions } from '../../../src/admin/reactions.ts';
import { apiKeyGate } from '../../../src/data/access/authenticate.ts';
import { accessRecordSeconds } from '../../../src/domain/key/access-events.ts';
import { adminPermissions } from '../../../src/domain/permissions.ts';
import { newId, newToken } from '../../../src/ids.ts';
import type { Context } from '../../../src/kernel/commands/actor.ts';
import { sharedStreamWriter } from '../../../src/kernel/commands/shared-stream-writer.ts';
import type { Reactor } from '../../../src/kernel/followers/reactor.ts';
import { openEvaluator } from '../../../src/rules/evaluate.ts';
import { memoryAccounts } from '../../support/accounts.ts';
import { administrationRoutes } from '../../support/all-routes.ts';
import { wideWindows } from '../../support/test-windows.ts';
import { upToDate } from '../../support/up-to-date.ts';
import { type Answer, type Ask, asker, type Json } from '../ask.ts';
import { stage } from '../stage.ts';
import { type AdminKey, type AuditEntry, Tenant } from './model.ts';

export const operator: Context = { actor: { type: 'operator', id: 'jo' } };

/** A request of the administration: its route as it is documented, and what it is filled with. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below `/v1/organization`, with the names of its parameters. */
  readonly path: string;
  readonly permission: string;
  readonly ids?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: object;
  readonly idempotencyKey?: string | undefined;
}

/**
 * The real administration, in process, beside a plain model of what it should be. Requests go through the gate with real
 * credentials; reactions and sweepers run when they are told to, so that every step has one outcome.
 */
export class World {
  readonly stage: Awaited<ReturnType<typeof stage>>;
  readonly #ask: Ask;
  readonly #evaluator: ReturnType<typeof openEvaluator>;
  readonly #reactors: readonly Reactor[];
  readonly #records: AccessRecords;
  #reacted = 0;
  #sent = 0;
  /** Operations that were asked for, as `GET /v1/…`. */
  readonly asked = new Set<string>();
  steps = 0;
  tenants: readonly [Tenant, Tenant];

  static async open(): Promise<World> {
    const world = new World(await stage());
    await world.begin();
    return world;
  }

  private constructor(at: Awaited<ReturnType<typeof stage>>) {
    this.stage = at;
    const { admin, clock } = at;
    this.#evaluator = openEvaluator();
    const { directory, secrets } = admin;
    const windows = wideWindows();
    const gate = apiKeyGate({
      accounts: memoryAccounts(),
      directory,
      peppers: secrets.peppers,
      clock,
      accessLog: at.accessLog,
      windows,
      knowledge: upToDate,
    });
    this.#ask = asker(administrationRoutes(admin, this.#evaluator, windows), gate);
    this.#reactors = [
      organizationReactions(admin),
      keyReactions(admin),
      adminKeyReactions(admin),
      replayReactions(admin),
      policyReactions(admin),
    ];
    this.#records = new AccessRecords(at.accessLog, sharedStreamWriter(at.store, accessRecordSeconds), clock);
    this.tenants = [new Tenant(''), new Tenant('')];
  }

  get now(): number {
    return this.stage.clock.at;
  }

  /** Two new organizations, each with an Admin key that may do everything. */
  async begin(): Promise<void> {
    const { aggregates, clock, secrets } = this.stage.admin;
    const made: Tenant[] = [];
    for (const name of ['One', 'Two']) {
      const tenant = new Tenant(newId('org', clock));
      const id = newId('akey', clock);
      const value = newToken('a');
      const key = { permissions: adminPermissions, expiresAt: null };
      const at = this.now;
      await aggregates.organization.dispatch(tenant.id, 'create', { name, at }, operator);
      await aggregates.organization.dispatch(tenant.id, 'issueAdminKey', { keyId: id, ...key }, operator);
      const input = { organizationId: tenant.id, name: 'first', ...key, ...credentialOf(secrets, value), at };
      await aggregates.adminKey.dispatch(id, 'create', input, operator);
      tenant.name = name;
      tenant.createdAt = at;
      tenant.adminKeys.set(id, { id, value, name: 'first', ...key, createdAt: at, isDeleted: false, usedAt: null });
      tenant.audit.push({ type: 'organization.created', resource: tenant.id, actor: 'jo' });
      tenant.audit.push({ type: 'admin_api_key.created', resource: id, actor: 'jo' });
      made.push(tenant);
    }
    this.tenants = made as unknown as readonly [Tenant, Tenant];
    await this.settle();
  }

  /**
   * Sends a request as an Admin key. Where the model says that it is refused at the gate, that is checked here and the
   * answer is null.
   */
  async send(tenant: Tenant, caller: AdminKey, request: Request): Promise<Answer | null> {
    const { method, path, permission, ids = {}, query, body, idempotencyKey } = request;
    const template = `/v1/organization${path}`;
    this.asked.add(`${method} ${template}`);
    const refused = tenant.gate(caller, permission, `${method} ${template}`, this.now);
    const url = template.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'none');
    const headers = {
      authorization: `Bearer ${caller.value}`,
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    };
    const answer = await this.#ask(method, query ? `${url}?${query}` : url, {
      headers,
      // From an address of its own, so that a caller with a deleted key is not taken for somebody who guesses.
      ip: `10.${this.#sent >> 16}.${(this.#sent >> 8) & 255}.${this.#sent++ & 255}`,
      ...(body && { body }),
    });
    if (refused === null) return answer;
    expect(`${answer.status} ${answer.code}`, `${method} ${url}`).toBe(refused);
    return null;
  }

  /** Time passes; nobody does anything. */
  advance(ms: number): void {
    this.stage.clock.at += ms;
    this.stage.accessLog.tick();
  }

  /** Lets every reaction run that is due, and those to what they cause. */
  async settle(): Promise<void> {
    const { admin, store } = this.stage;
    for (; this.#reacted < store.log.length; this.#reacted += 1) {
      const event = store.log[this.#reacted]!;
      const category = event.stream.slice(0, event.stream.indexOf('-'));
      for (const reactor of this.#reactors) if (reactor.categories.includes(category)) await reactor.react(event);
    }
    const last = store.log.at(-1);
    if (last) expect(await admin.models.reached(last.position, 10_000)).toBe(true);
  }

  /** What the sweeper does. */
  async sweep(): Promise<void> {
    await expireKeys(this.stage.admin);
    await this.settle();
  }

  /** What the turn of a minute does. */
  async flush(): Promise<void> {
    await this.#records.write(true);
    await this.settle();
  }

  /**
   * Lets the consequences come and checks that exactly this was added to the tenant's audit log; what reactions and
   * sweepers add together may come in any order.
   */
  async happened(tenant: Tenant, expected: readonly AuditEntry[]): Promise<void> {
    await this.settle();
    const known = tenant.audit.length;
    const after = known === 0 ? undefined : auditKeyOf(tenant.id, known - 1);
    const rows = this.stage.admin.models.range(auditRows, { prefix: `${tenant.id}:`, after, limit: 100_000 });
    const added = rows.map(({ row }) => ({ type: row.type, resource: row.resourceId, actor: row.actor.id }));
    expect(added.map(lineOf).sort()).toEqual(expected.map(lineOf).sort());
    tenant.audit.push(...added);
  }

  async close(): Promise<void> {
    await this.#evaluator.close();
    await this.stage.close();
  }
}

const lineOf = ({ type, resource, actor }: AuditEntry): string => `${type} ${resource} by ${actor}`;

/** What an answer is compared by: status, and code and parameter of a refusal. */
export const gist = ({ status, code, param }: Answer): string =>
  [status, code, param].filter((part) => part !== '' && part !== null).join(' ');

export const dataOf = (answer: Answer): Json[] => answer.body.data as Json[];
