import { decisionSeconds, type PoliciesDecided } from '../src/domain/policy/decision-events.ts';
import type { Direction } from '../src/domain/policy/policy-terms.ts';
import { isRecord } from '../src/domain/records.ts';
import type { Projection } from '../src/kernel/projections/projection.ts';
import { passing } from '../src/kernel/rows/row-sweep.ts';
import { table } from '../src/kernel/rows/rows.ts';
import { eventOf } from './recorded.ts';

/** Without any content of the request (contract B.7). */
export interface PolicyDecisionRow {
  readonly id: string;
  readonly policyId: string;
  readonly version: number;
  readonly direction: Direction;
  readonly verdict: 'monitored' | 'blocked' | 'error';
  /** 0..10000; null if the rule failed. */
  readonly scoreBasisPoints: number | null;
  readonly requestId: string;
  readonly projectId: string;
  readonly apiKeyId: string;
  /** Milliseconds. */
  readonly createdAt: number;
}

/** Key: `<policy>:<decision>`, sorted by creation. */
export const policyDecisionRows = table<PolicyDecisionRow>('policy-decisions');

export const policyDecisions: Projection = {
  name: 'policy-decisions',
  version: 2,
  categories: ['policyDecision'],
  tables: [policyDecisionRows],
  passing: [passing(policyDecisionRows, (_, { createdAt }, now) => createdAt + decisionSeconds * 1000 <= now)],
  apply(event, rows) {
    if (!isRecord(event.type, event.data)) return;
    for (const decision of eventOf<PoliciesDecided>(event).decisions) {
      const { id, policy_id: policyId, version, direction, verdict } = decision;
      rows.put(policyDecisionRows, `${policyId}:${id}`, {
        ...{ id, policyId, version, direction, verdict },
        scoreBasisPoints: decision.score_basis_points,
        requestId: decision.request_id,
        projectId: decision.project_id,
        apiKeyId: decision.key_id,
        createdAt: decision.decided_at,
      });
    }
  },
};
