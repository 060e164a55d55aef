import { livePolicyRows, type PolicyRow, policyKeyOf } from '../../../projections/policies.ts';
import { eventOf, idOf } from '../../../projections/recorded.ts';
import type { PolicyEvent, PolicyVersion } from '../../domain/policy/policy-events.ts';
import { type Refusal, refusal } from '../../errors.ts';
import type { ReadModels } from '../../kernel/projections/projection.ts';
import type { Recorded } from '../../kernel/store/store.ts';
import { isCompiled } from '../../rules/compile.ts';
import type { AnyRule } from '../../rules/evaluate.ts';
import { compilingWork, isSlowToCompile } from '../../rules/language/patterns/pattern.ts';
import { RuleCache } from '../../rules/threads/rule-cache.ts';
import type { EffectivePolicies, PoliciesInForce, PolicyInForce, PolicySubject } from './effective.ts';

/** No time-to-live: what a batch changes is forgotten before the change is visible, and read anew. */
export interface PolicyDirectory extends PoliciesInForce {
  committing(batch: readonly Recorded[]): void;
  committed(): void;
  /** The read models were cleared or incomplete. */
  cleared(): void;
}

interface Made {
  readonly policies: EffectivePolicies;
  /** Rules to compile, the next one last. */
  readonly left: { policy: { -readonly [name in keyof PolicyInForce]: PolicyInForce[name] }; version: PolicyVersion }[];
}

interface Entry {
  readonly policies: ReadonlyMap<string, PolicyRow>;
  /** By version, shared by its projects. */
  readonly rules: Map<string, AnyRule>;
  readonly effective: Map<string, Made | null>;
}

/** One has at most 100 policies. */
const mostOrganizations = 2_000;
const mostProjects = 1_000;
/** A request's share of compiling (`compilingWork`): 30 ms at worst. Threads evaluate the rest. */
const mostCompiled = 10_000;

const everybody = Symbol('all organizations');

const covers = ({ scope, projectIds }: PolicyVersion, projectId: string): boolean =>
  scope === 'organization' || projectIds.includes(projectId);

/** Sent to a thread. */
const sentRule = ({ rule: text, direction, thresholdBasisPoints: atLeast }: PolicyVersion): AnyRule => ({
  rule: null,
  text,
  direction,
  atLeast,
});

class Directory implements PolicyDirectory {
  readonly #models: () => ReadModels;
  readonly #entries = new Map<string, Entry>();
  /** In the batch that is being committed; `everybody` if an owner is unknown. */
  readonly #changing = new Set<string | typeof everybody>();
  readonly #rules = new RuleCache();

  constructor(models: () => ReadModels) {
    this.#models = models;
  }

  #load(organizationId: string): Entry {
    const isChanging = this.#changing.has(organizationId) || this.#changing.has(everybody);
    if (this.#changing.size > 0) this.#models().refresh();
    const rows = this.#models().range(livePolicyRows, {
      prefix: policyKeyOf(organizationId, ''),
      order: 'asc',
      limit: Number.MAX_SAFE_INTEGER,
    });
    const entry = { policies: new Map(rows.map(({ row }) => [row.id, row])), rules: new Map(), effective: new Map() };
    if (isChanging) return entry;
    if (this.#entries.size >= mostOrganizations) this.#entries.delete(this.#entries.keys().next().value as string);
    this.#entries.set(organizationId, entry);
    return entry;
  }

  #ownerOf(id: string): string | undefined {
    for (const [organizationId, { policies }] of this.#entries) if (policies.has(id)) return organizationId;
    return undefined;
  }

  #entryOf(organizationId: string): Entry {
    return this.#entries.get(organizationId) ?? this.#load(organizationId);
  }

  #ruleOf(version: PolicyVersion): AnyRule {
    const { id, rule: text, direction, thresholdBasisPoints: atLeast } = version;
    const rule = this.#rules.get(id, text, direction);
    // The thread reports a rule that an upgrade made invalid.
    return isCompiled(rule) ? { rule, atLeast } : sentRule(version);
  }

  #make({ policies: all, rules: known }: Entry, projectId: string): Made | null {
    const policies = { request: [] as PolicyInForce[], response: [] as PolicyInForce[] };
    const left: Made['left'] = [];
    for (const { id, status, data } of all.values()) {
      const { current, name } = data;
      if (status !== 'live' || current === null || !covers(current, projectId)) continue;
      const { version, mode, direction } = current;
      const judged = known.get(current.id) ?? sentRule(current);
      const policy = { id, name, version, isEnforcing: mode === 'enforcing', judged };
      policies[direction].push(policy);
      if (!known.has(current.id) && !isSlowToCompile(current.rule)) left.push({ policy, version: current });
    }
    return policies.request.length + policies.response.length === 0 ? null : { policies, left: left.reverse() };
  }

  #compileSome({ rules: known }: Entry, { left }: Made): void {
    let work = 0;
    for (let next = left.at(-1); next !== undefined; next = left.at(-1)) {
      const { policy, version } = next;
      work += known.has(version.id) || this.#rules.has(version.id) ? 0 : compilingWork(version.rule);
      if (work > mostCompiled) return;
      policy.judged = known.get(version.id) ?? this.#ruleOf(version);
      known.set(version.id, policy.judged);
      left.pop();
    }
  }

  of({ organizationId, projectId }: PolicySubject) {
    const entry = this.#entryOf(organizationId);
    const { policies, effective } = entry;
    if (policies.size === 0) return null;
    let made = effective.get(projectId);
    if (made === undefined) {
      made = this.#make(entry, projectId);
      if (effective.size >= mostProjects) effective.clear();
      effective.set(projectId, made);
    }
    if (made === null) return null;
    if (made.left.length > 0) this.#compileSome(entry, made);
    return made.policies;
  }

  refusalOf({ organizationId, projectId }: PolicySubject, named: readonly string[]): Refusal | null {
    const { policies } = this.#entryOf(organizationId);
    for (const [index, id] of named.entries()) {
      const policy = policies.get(id);
      const param = `policy_ids.${index}`;
      if (policy === undefined) return refusal('policy_not_found', { param });
      const { current, draft } = policy.data;
      const { scope, projectIds } = current ?? draft;
      if (scope === 'project' && !projectIds.includes(projectId)) return refusal('policy_not_found', { param });
      if (current === null) return refusal('policy_not_published', { param });
    }
    return null;
  }

  committing(batch: readonly Recorded[]): void {
    for (const recorded of batch) {
      if (!recorded.stream.startsWith('policy-')) continue;
      const event = eventOf<PolicyEvent>(recorded);
      const owner = event.type === 'policy.created' ? event.organization_id : this.#ownerOf(idOf(recorded));
      this.#changing.add(owner ?? everybody);
      if (owner !== undefined) this.#entries.delete(owner);
    }
  }

  committed(): void {
    this.#changing.clear();
  }

  cleared(): void {
    this.#entries.clear();
  }
}

export const policyDirectory = (models: () => ReadModels): PolicyDirectory => new Directory(models);
