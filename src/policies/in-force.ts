import { livePolicyRows, type PolicyRow, policyKeyOf } from '../../projections/policies.ts';
import { eventOf, idOf } from '../../projections/recorded.ts';
import type { PolicyEvent, PolicyVersion } from '../domain/policy/policy-events.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { ReadModels } from '../kernel/projections/projection.ts';
import type { Recorded } from '../kernel/store/store.ts';
import { isCompiled } from '../rules/compile.ts';
import type { AnyRule } from '../rules/evaluate.ts';
import { compilingWork, isSlowToCompile } from '../rules/language/patterns/pattern.ts';
import { RuleCache } from '../rules/threads/rule-cache.ts';
import type { EffectivePolicies, PoliciesInForce, PolicyInForce, PolicySubject } from './effective.ts';

/**
 * The policies in force in memory, in front of their read model. As in the directory of credentials there is no time-to-live:
 * what a batch of events changes is forgotten before anybody can have seen the change, and read anew.
 */
export interface PolicyDirectory extends PoliciesInForce {
  /** Called with every batch before and after the read models commit it. */
  committing(batch: readonly Recorded[]): void;
  committed(): void;
  /** Called when the read models have forgotten everything, or found that what they held was not all that there was. */
  cleared(): void;
}

/** The policies of a project. */
interface Made {
  readonly policies: EffectivePolicies;
  /** Those whose rules are not compiled yet, the next one last. */
  readonly left: { policy: { -readonly [name in keyof PolicyInForce]: PolicyInForce[name] }; version: PolicyVersion }[];
}

/** What is kept of one organization. */
interface Entry {
  readonly policies: ReadonlyMap<string, PolicyRow>;
  /** By version: its projects share them. */
  readonly rules: Map<string, AnyRule>;
  /** By project. */
  readonly effective: Map<string, Made | null>;
}

/** Organizations that are kept; one has at most 100 policies. */
const mostOrganizations = 2_000;
const mostProjects = 1_000;
/** How much of its rules one request compiles (`compilingWork`): 30 ms at the worst, and a hundred usual ones. Threads judge by the others. */
const mostCompiled = 10_000;

const everybody = Symbol('all organizations');

const covers = ({ scope, projectIds }: PolicyVersion, projectId: string): boolean =>
  scope === 'organization' || projectIds.includes(projectId);

export const policyDirectory = (models: () => ReadModels): PolicyDirectory => {
  const entries = new Map<string, Entry>();
  /** Organizations in the batch that is being committed; `everybody` where whose a policy is, is not known. */
  const changing = new Set<string | typeof everybody>();
  const rules = new RuleCache();

  const load = (organizationId: string): Entry => {
    const isChanging = changing.has(organizationId) || changing.has(everybody);
    if (changing.size > 0) models().refresh();
    const rows = models().range(livePolicyRows, {
      prefix: policyKeyOf(organizationId, ''),
      order: 'asc',
      limit: Number.MAX_SAFE_INTEGER,
    });
    const entry = { policies: new Map(rows.map(({ row }) => [row.id, row])), rules: new Map(), effective: new Map() };
    if (isChanging) return entry;
    if (entries.size >= mostOrganizations) entries.delete(entries.keys().next().value as string);
    entries.set(organizationId, entry);
    return entry;
  };
  /** Whose policy it is, of those that are kept. */
  const ownerOf = (id: string): string | undefined => {
    for (const [organizationId, { policies }] of entries) if (policies.has(id)) return organizationId;
    return undefined;
  };
  const entryOf = (organizationId: string): Entry => entries.get(organizationId) ?? load(organizationId);

  /** For a thread. */
  const sentRule = ({ rule: text, direction, thresholdBasisPoints: atLeast }: PolicyVersion): AnyRule => ({
    rule: null,
    text,
    direction,
    atLeast,
  });
  const ruleOf = (version: PolicyVersion): AnyRule => {
    const { id, rule: text, direction, thresholdBasisPoints: atLeast } = version;
    const rule = rules.get(id, text, direction);
    // A rule that an upgrade made invalid is told so by the thread.
    return isCompiled(rule) ? { rule, atLeast } : sentRule(version);
  };

  const make = ({ policies: all, rules: known }: Entry, projectId: string): Made | null => {
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
  };
  const compileSome = ({ rules: known }: Entry, { left }: Made): void => {
    let work = 0;
    for (let next = left.at(-1); next !== undefined; next = left.at(-1)) {
      const { policy, version } = next;
      work += known.has(version.id) || rules.has(version.id) ? 0 : compilingWork(version.rule);
      if (work > mostCompiled) return;
      policy.judged = known.get(version.id) ?? ruleOf(version);
      known.set(version.id, policy.judged);
      left.pop();
    }
  };

  return {
    of({ organizationId, projectId }: PolicySubject) {
      const entry = entryOf(organizationId);
      const { policies, effective } = entry;
      if (policies.size === 0) return null;
      let made = effective.get(projectId);
      if (made === undefined) {
        made = make(entry, projectId);
        if (effective.size >= mostProjects) effective.clear();
        effective.set(projectId, made);
      }
      if (made === null) return null;
      if (made.left.length > 0) compileSome(entry, made);
      return made.policies;
    },
    refusalOf({ organizationId, projectId }, named): Refusal | null {
      const { policies } = entryOf(organizationId);
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
    },
    committing(batch) {
      for (const recorded of batch) {
        if (!recorded.stream.startsWith('policy-')) continue;
        const event = eventOf<PolicyEvent>(recorded);
        const owner = event.type === 'policy.created' ? event.organization_id : ownerOf(idOf(recorded));
        changing.add(owner ?? everybody);
        if (owner !== undefined) entries.delete(owner);
      }
    },
    committed() {
      changing.clear();
    },
    cleared() {
      entries.clear();
    },
  };
};
