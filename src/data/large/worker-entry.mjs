// JavaScript: on Node 20 a worker cannot start from .ts under tsx or vitest. In the build worker.js is here.
import { existsSync } from 'node:fs';

const source = new URL('./worker.ts', import.meta.url);
if (existsSync(source)) {
  const { register } = await import('tsx/esm/api');
  register();
  await import(source.href);
} else {
  await import(new URL('./worker.js', import.meta.url).href);
}
