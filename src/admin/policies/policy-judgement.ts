import { projectKeyOf, projectRows } from '../../../projections/projects.ts';
import type { Direction } from '../../domain/policy/policy-terms.ts';
import { fault } from '../../errors.ts';
import type { RowReader } from '../../kernel/rows/rows.ts';
import { compileRule, isCompiled } from '../../rules/compile.ts';
import type { Evaluator } from '../../rules/evaluate.ts';
import { NoThread } from '../../threads/worker-thread.ts';

/** @throws Fault 503 `server_busy` if no thread is free */
export const tried = async <T>(trial: Promise<T>): Promise<T> => {
  try {
    return await trial;
  } catch (error) {
    if (!(error instanceof NoThread)) throw error;
    throw fault('server_busy', { message: 'As many rules are being tried as may be at once.', cause: error });
  }
};

/** @throws Fault 422 `policy_rule_invalid` with the place of the first error, 503 `server_busy` */
export const requireRule = async (evaluator: Evaluator, rule: string, direction: Direction): Promise<void> => {
  const compiled = compileRule(rule, direction);
  const first = isCompiled(compiled) ? await tried(evaluator.tryOut(compiled)) : compiled[0];
  if (first === null) return;
  const where = first ? `line ${first.line}, column ${first.column}: ${first.message}` : 'It cannot be compiled.';
  throw fault('policy_rule_invalid', { param: 'rule', message: `rule: ${where}` });
};

/** Checks the projects that are not in `before` (contract B.5). @throws Fault 404 `project_not_found`, 409 `project_archived` */
export const requireActive = (
  models: Pick<RowReader, 'get'>,
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
