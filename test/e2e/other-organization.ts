import type { Administration, Aggregates } from '../../src/admin/command.ts';
import { carryOut, planFirstRun } from '../../src/admin/organization/first-run.ts';
import { anyEventLog } from '../../src/app/event-log.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config.ts';
import { adminKey } from '../../src/domain/admin-key.ts';
import { organization } from '../../src/domain/organization.ts';
import { project } from '../../src/domain/project.ts';
import { projectKey } from '../../src/domain/project-key.ts';
import { actors } from '../../src/kernel/actor.ts';
import { loadSecrets } from '../../src/secrets/master-secrets.ts';
import { call, use } from './calls.ts';
import { eventually, type FirstRun, type Server } from './server.ts';

/**
 * Makes a second organization with all that the first one starts with. No HTTP call does that, so its events are
 * appended beside the running server by the same commands.
 */
export const otherOrganization = async (server: Server): Promise<FirstRun> => {
  const config = readConfig(server.env);
  const log = await anyEventLog(config);
  try {
    const { store } = log;
    const aggregates: Pick<Aggregates, 'organization' | 'project' | 'projectKey' | 'adminKey'> = {
      organization: actors(organization, { store }),
      project: actors(project, { store }),
      projectKey: actors(projectKey, { store }),
      adminKey: actors(adminKey, { store }),
    };
    const admin = {
      aggregates,
      clock: systemClock,
      secrets: loadSecrets(config.SECRETS_DIR),
      // No read model: nothing of a new plan is there yet.
      models: { get: () => undefined, reached: () => Promise.resolve(true) },
      projectionWaitMs: 0,
    } as unknown as Administration;
    const plan = planFirstRun(admin);
    await carryOut(admin, plan);
    await eventually(async () => (await use(server, plan.project_api_key)) === '200' || undefined);
    const list = () => call(server, 'GET', '/v1/organization/projects', { key: plan.admin_api_key });
    await eventually(async () => (await list()).status === 200 || undefined);
    return plan;
  } finally {
    await log.close();
  }
};
