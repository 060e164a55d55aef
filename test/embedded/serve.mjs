// Serves a store from source in a process of its own. Arguments: the directory, and settings as JSON; with
// `{"embedded":true}` through startEmbedded with its lock and worker, else through runStore with faults.
import { join } from 'node:path';
import { register } from 'tsx/esm/api';

register();
const [dir, json] = process.argv.slice(2);
const { embedded, ...settings } = JSON.parse(json);
const say = (text) => process.stdout.write(`${text}\n`);

let store;
if (embedded) {
  const { startEmbedded } = await import('../../src/embedded/index.ts');
  store = await startEmbedded({ dir, ...settings }).catch((error) => {
    say(`refused ${error.name} ${error.pid ?? ''} ${error.message}`);
    process.exit(3);
  });
} else {
  const { runStore } = await import('../../src/embedded/run-store.ts');
  store = await runStore({ dir, listen: { socket: join(dir, 's.sock') }, ...settings });
}
say(`ready ${store.endpoint}`);
void store.failed.then((error) => {
  say(`failed ${error.message}`);
  process.exit(4);
});
process.on('unhandledRejection', (error) => say(`unhandled ${error}`));
process.on('SIGTERM', async () => {
  await store.close();
  process.exit(0);
});
