import type { ProjectPrincipal } from '../access/principal.ts';
import type { Model } from '../upstream/models/models.ts';

type Check = Model['access']['required_checks'][number];

/** In the model's order. */
export const missingRequirements = (model: Model, tier: number, hasCredit: boolean): readonly Check[] =>
  model.access.required_checks.filter((check) => (check === 'credits' ? !hasCredit : tier < tierOf(check)));

/** Whether a call is 403 `model_locked`. Missing `credits` alone are a 402 of the credit hold (contract A.4). */
export const isLocked = (model: Model, tier: number): boolean =>
  model.access.required_checks.some((check) => check !== 'credits' && tier < tierOf(check));

const tierOf = (check: Exclude<Check, 'credits'>): number => Number(check.slice('tier:'.length));

/** A dedicated model exists for its organization alone (contract L.1). */
export const existsFor = ({ dedicated_to: owner }: Pick<Model, 'dedicated_to'>, organizationId: string): boolean =>
  owner === undefined || owner === organizationId;

/** Hides models of other organizations, and those closed to the project (contract B.2). */
export const isServedTo = (
  model: Pick<Model, 'id' | 'dedicated_to'>,
  { organizationId, allowedModels }: Pick<ProjectPrincipal, 'organizationId' | 'allowedModels'>,
): boolean =>
  existsFor(model, organizationId) &&
  (allowedModels === null || allowedModels.ids.has(model.id) !== allowedModels.areDenied);
