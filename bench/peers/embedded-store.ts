/** The embedded event store by itself, in its worker thread as in the gateway; the thread's CPU time is this process's. */
import { builtStore } from '../build.ts';
import { serveParent } from '../machine/parent.ts';

type Embedded = typeof import('../../src/embedded/index.ts');

let endpoint: string | undefined;

serveParent(async (question) => {
  const { dir } = question as { readonly dir: string };
  const { startEmbedded } = (await import(builtStore)) as Embedded;
  endpoint ??= (await startEmbedded({ dir })).endpoint;
  return { endpoint };
});
