import type { ProjectPrincipal } from '../../access/principal.ts';
import type { Model } from '../../upstream/models/models.ts';

/** What a model asks of an organization (contract A.4). */
type Check = Model['access']['required_checks'][number];

/** The checks of a model that an organization of this tier, with a positive balance or not, does not pass, in the model's order. */
export const missingRequirements = (model: Model, tier: number, hasCredit: boolean): readonly Check[] =>
  model.access.required_checks.filter((check) => (check === 'credits' ? !hasCredit : tier < tierOf(check)));

/**
 * Whether calling the model is 403 `model_locked`: a tier is missing. One who lacks only `credits` is told so by the
 * credit hold, with 402 (contract A.4).
 */
export const isLocked = (model: Model, tier: number): boolean =>
  model.access.required_checks.some((check) => check !== 'credits' && tier < tierOf(check));

const tierOf = (check: Exclude<Check, 'credits'>): number => Number(check.slice('tier:'.length));

/**
 * Whether the model exists for the caller: one that is dedicated to an organization exists for no other (contract L.1), and one
 * that a project may not use not for its keys (contract B.2).
 */
export const isServedTo = (
  { id, dedicated_to: owner }: Pick<Model, 'id' | 'dedicated_to'>,
  { organizationId, allowedModels }: Pick<ProjectPrincipal, 'organizationId' | 'allowedModels'>,
): boolean => (owner === undefined || owner === organizationId) && (allowedModels === null || allowedModels.has(id));
