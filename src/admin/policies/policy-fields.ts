import { z } from 'zod';
import {
  directions,
  modes,
  type PolicyScope,
  scopeFits,
  scopeMisfit,
  scopes,
} from '../../domain/policy/policy-terms.ts';
import { text, wholeNumber } from '../../http/request/query.ts';
import { whole } from '../../http/validation/whole.ts';
import { hasFields, name, optional, pathId } from '../fields.ts';

const mostRevision = 2_147_483_647;
const revision = whole().min(1).max(mostRevision);
export const revisionQuery = z.object({ revision: wholeNumber(1, mostRevision) });
export const revisionBody = z.strictObject({ revision });

/** The compiler checks the bounds, and reports the place of an error. */
const rule = z.string().meta({ minLength: 1, maxLength: 4096 });
export const direction = z.enum(directions);

const projectIds = z
  .array(pathId)
  .max(100)
  .check((context) => {
    const seen = new Set<string>();
    for (const [i, id] of context.value.entries()) {
      if (seen.has(id)) {
        context.issues.push({ code: 'custom', input: id, path: [i], message: 'Must not be listed twice.' });
      }
      seen.add(id);
    }
  })
  .meta({ uniqueItems: true });

const further = {
  description: optional(text(0, 2000)),
  direction: optional(direction),
  mode: optional(z.enum(modes)),
  scope: optional(z.enum(scopes)),
  project_ids: optional(projectIds),
  match_threshold_basis_points: optional(whole().min(1).max(10_000)),
};

interface Scoped {
  readonly scope?: PolicyScope | undefined;
  readonly project_ids?: readonly string[] | undefined;
}
/** For the OpenAPI document; the policy checks an update with only one of the two. */
const ofProjects = {
  properties: { scope: { const: 'project' }, project_ids: { type: 'array', minItems: 1 } },
  required: ['scope', 'project_ids'],
};
const ofAll = { properties: { scope: { enum: ['organization', null] }, project_ids: { maxItems: 0 } } };
const lacksOne = { not: hasFields('scope', 'project_ids') };
/** Negated twice: for a plain `anyOf`, client generators make classes of the alternatives. */
const oneOfThese = (...alternatives: readonly object[]) => ({ not: { not: { anyOf: alternatives } } });
const misfit = { error: scopeMisfit, path: ['project_ids'] };

export const createBody = z
  .strictObject({ name, rule, ...further })
  .refine(({ scope = 'organization', project_ids = [] }: Scoped) => scopeFits(scope, project_ids), misfit)
  .meta(oneOfThese(ofProjects, ofAll));

/** If only one of scope and projects is given, the policy compares it with the draft. */
export const updateBody = z
  .strictObject({ revision, name: optional(name), rule: optional(rule), ...further })
  .refine(({ scope, project_ids }: Scoped) => !scope || !project_ids || scopeFits(scope, project_ids), misfit)
  .meta(oneOfThese(lacksOne, ofProjects, ofAll));
