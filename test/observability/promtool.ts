import { spawnSync } from 'node:child_process';

const installed = spawnSync('promtool', ['--version']).error === undefined;

/** Why promtool cannot be asked here; undefined where it can. */
export const noPromtool = installed ? undefined : 'promtool is not installed (apt-get install prometheus)';

/** What promtool finds in an exposition; empty where it has nothing to say. */
export const lint = (exposition: string): string => {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: exposition });
  const said = `${stdout}${stderr}`;
  return status === 0 ? said : `exit ${status}: ${said}`;
};
