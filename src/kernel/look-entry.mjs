// The entry of the thread that looks at the file of the rows is JavaScript because a worker cannot start from a .ts file under
// tsx or vitest on Node 20. From source it registers tsx for itself; in the build, look-thread.js lies beside it.
import { existsSync } from 'node:fs';

const source = new URL('./look-thread.ts', import.meta.url);
if (existsSync(source)) {
  const { register } = await import('tsx/esm/api');
  register();
  await import(source.href);
} else {
  await import(new URL('./look-thread.js', import.meta.url).href);
}
