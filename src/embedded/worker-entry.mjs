// JavaScript, because a worker cannot start from a .ts file under tsx or vitest on Node 20. In the build, worker.js is beside it.
import { existsSync } from 'node:fs';

const source = new URL('./worker.ts', import.meta.url);
if (existsSync(source)) {
  const { register } = await import('tsx/esm/api');
  register();
  await import(source.href);
} else {
  await import(new URL('./worker.js', import.meta.url).href);
}
