// Entry of the process that reads a store's files, which a damaged file may kill. JavaScript for the reason in worker-entry.mjs.
import { existsSync } from 'node:fs';

const source = new URL('./maintenance/child.ts', import.meta.url);
if (existsSync(source)) {
  const { register } = await import('tsx/esm/api');
  register();
  await import(source.href);
} else {
  await import(new URL('./maintenance/child.js', import.meta.url).href);
}
