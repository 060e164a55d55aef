import { projectKeyOf, projectRows } from '../../projections/projects.ts';
import type { Direction } from '../domain/policy-terms.ts';
import { fault } from '../errors.ts';
import type { ReadModels } from '../kernel/projection.ts';
import { compileRule, isCompiled } from '../rules/compile.ts';

/** What a policy's own stream cannot judge: the rule's language and the projects that it names. */

/** @throws Fault 422 `policy_rule_invalid` with the place of the first error */
export const requireRule = (rule: string, direction: Direction): void => {
  const compiled = compileRule(rule, direction);
  if (isCompiled(compiled)) return;
  const [first] = compiled;
  const where = first ? `line ${first.line}, column ${first.column}: ${first.message}` : 'It cannot be compiled.';
  throw fault('policy_rule_invalid', { param: 'rule', message: `rule: ${where}` });
};

/**
 * Every project that is named and was not before is an active one of the organization (decisions B.5).
 * @throws Fault 404 `project_not_found`, 409 `project_archived`
 */
export const requireActive = (
  models: ReadModels,
  organizationId: string,
  projectIds: readonly string[],
  before: readonly string[] = [],
): void => {
  for (const [i, id] of projectIds.entries()) {
    if (before.includes(id)) continue;
    const project = models.get(projectRows, projectKeyOf(organizationId, id));
    if (!project) throw fault('project_not_found', { param: `project_ids.${i}` });
    if (project.status !== 'active') {
      throw fault('project_archived', { param: `project_ids.${i}`, message: `The project ${id} is archived.` });
    }
  }
};
