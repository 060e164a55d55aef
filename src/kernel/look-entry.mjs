// JavaScript, because a worker cannot start from a .ts file under tsx or vitest on Node 20. In the build, look-thread.js is
// beside it.
import { existsSync } from 'node:fs';

const source = new URL('./look-thread.ts', import.meta.url);
if (existsSync(source)) {
  const { register } = await import('tsx/esm/api');
  register();
  await import(source.href);
} else {
  await import(new URL('./look-thread.js', import.meta.url).href);
}
