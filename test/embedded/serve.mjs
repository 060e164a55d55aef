// Serves a store in a process of its own: from source, or from the build whose folder EMBEDDED_BUILD names. Arguments: the
// directory, and settings as JSON; with `{"embedded":true}` through startEmbedded with its lock and worker, else through
// runStore with faults.
import { join } from 'node:path';

const build = process.env.EMBEDDED_BUILD;
if (build === undefined) (await import('tsx/esm/api')).register();
const load = (name) => import(build === undefined ? `../../src/embedded/${name}.ts` : join(build, `${name}.js`));
const [dir, json] = process.argv.slice(2);
const { embedded, ...settings } = JSON.parse(json);
const say = (text) => process.stdout.write(`${text}\n`);

let store;
if (embedded) {
  const { startEmbedded } = await load('index');
  store = await startEmbedded({ dir, ...settings }).catch((error) => {
    say(`refused ${error.name} ${error.pid ?? ''} ${error.message}`);
    process.exit(3);
  });
} else {
  const { runStore } = await load('run-store');
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
