import { credentialOf } from '../../src/admin/credential.ts';
import { asOperator, operatorContext } from '../../src/cli/operator.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { systemClock } from '../../src/clock.ts';
import { projectPermissions } from '../../src/domain/permissions.ts';
import { newId, newToken } from '../../src/ids.ts';

/** Organizations made at a time. */
const atOnce = 16;

/**
 * Makes organizations with one project and one key each, beside the running gateway and as it would make them itself:
 * limits are per key and per organization, so a load that they are to let through has to come from many.
 * @returns the keys
 */
export const makeProjectKeys = (dataDir: string, count: number): Promise<string[]> => {
  const terminal: Terminal = {
    argv: [],
    env: { DATA_DIR: dataDir },
    interrupted: () => new Promise(() => {}),
    out: () => {},
    err: () => {},
    columns: 120,
  };
  const context = operatorContext(terminal);
  return asOperator(terminal, async ({ aggregates, secrets }) => {
    const make = async (): Promise<string> => {
      const [organizationId, projectId, keyId] = [
        newId('org', systemClock),
        newId('proj', systemClock),
        newId('key', systemClock),
      ];
      const value = newToken('p');
      const at = systemClock.wall();
      await aggregates.organization.tell(organizationId, 'create', { name: 'bench', at }, context);
      await aggregates.project.tell(projectId, 'create', { organizationId, name: 'bench', at }, context);
      await aggregates.project.tell(projectId, 'issueKey', { keyId }, context);
      const key = { organizationId, projectId, name: 'bench', permissions: projectPermissions, expiresAt: null, at };
      await aggregates.projectKey.tell(keyId, 'create', { ...key, ...credentialOf(secrets, value) }, context);
      return value;
    };
    const keys: string[] = [];
    while (keys.length < count) {
      keys.push(...(await Promise.all(Array.from({ length: Math.min(atOnce, count - keys.length) }, make))));
    }
    return keys;
  });
};
