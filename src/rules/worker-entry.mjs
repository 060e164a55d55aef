// JavaScript, because a worker cannot start from a .ts file under tsx or vitest on Node 20. The build has threads/worker.js.
import { existsSync } from 'node:fs';

const source = new URL('./threads/worker.ts', import.meta.url);
if (existsSync(source)) {
  const { register } = await import('tsx/esm/api');
  register();
  await import(source.href);
} else {
  await import(new URL('./threads/worker.js', import.meta.url).href);
}
