import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';

/** Fast tests start no process: one that tries fails, and says where it belongs. */
const refuse = (): never => {
  throw new Error('A test of the fast lane starts no process: see test/README.md.');
};
for (const name of ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync'] as const)
  childProcess[name] = refuse as never;
syncBuiltinESMExports();
