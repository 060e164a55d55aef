import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const source = join(root, 'src/embedded');
const cache = join(root, 'node_modules/.cache');

const filesOf = (): string[] =>
  readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.m?ts$|\.mjs$/.test(name))
    .sort();

/**
 * The event store compiled as it ships, kept by the hash of its sources: a process that compiles itself while it starts
 * takes four times as long, and hundreds are started. Returns the folder with its index.js.
 */
export const builtEmbedded = (): string => {
  const hash = createHash('sha256');
  const files = filesOf();
  for (const name of files) hash.update(name).update(readFileSync(join(source, name)));
  const built = join(cache, `weir-embedded-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(built)) return built;
  const draft = `${built}-${process.pid}`;
  mkdirSync(draft, { recursive: true });
  const config = join(draft, 'tsconfig.json');
  const compilerOptions = { noEmit: false, outDir: draft, rootDir: source, types: ['node'] };
  writeFileSync(config, JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, include: [source] }));
  execFileSync(process.execPath, [join(root, 'node_modules/.bin/tsc'), '-p', config], { stdio: 'pipe' });
  for (const name of files) if (name.endsWith('.mjs')) copyFileSync(join(source, name), join(draft, name));
  writeFileSync(join(draft, 'package.json'), '{"type":"module"}');
  try {
    renameSync(draft, built);
  } catch {
    // Another process was first.
    rmSync(draft, { recursive: true, force: true });
  }
  // What was built from sources that are no more; not at once, since a process may still run from it.
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    const isOld = name.startsWith('weir-embedded-') && Date.now() - statSync(path).mtimeMs > 86_400_000;
    if (isOld && path !== built) rmSync(path, { recursive: true, force: true });
  }
  return built;
};
