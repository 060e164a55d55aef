import type { Clock } from '../../clock.ts';
import type { Decision } from '../../domain/policy/decision-events.ts';
import { newId } from '../../ids.ts';
import type { RecordDecisions } from './guard.ts';

/** Keeps decisions synchronously. */
export interface DecisionBook {
  decide(decision: Decision): void;
}

export const recordIn =
  (book: DecisionBook, clock: Clock): RecordDecisions =>
  ({ organizationId, projectId, apiKeyId, requestId, at, decisions }) => {
    for (const { policyId, version, direction, verdict, scoreBasisPoints } of decisions) {
      book.decide({
        id: newId('dec', clock),
        organization_id: organizationId,
        policy_id: policyId,
        version,
        direction,
        verdict,
        score_basis_points: scoreBasisPoints,
        request_id: requestId,
        project_id: projectId,
        key_id: apiKeyId,
        decided_at: at,
      });
    }
  };
