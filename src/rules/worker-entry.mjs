// JavaScript, because a worker cannot start from a .ts file under tsx or vitest on Node 20. In the build, threads/worker.js is below it.
import { existsSync } from 'node:fs';

const source = new URL('./threads/worker.ts', import.meta.url);
if (existsSync(source)) {
  const { register } = await import('tsx/esm/api');
  register();
  await import(source.href);
} else {
  await import(new URL('./threads/worker.js', import.meta.url).href);
}
