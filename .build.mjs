// Builds dist/: each module by itself, for whoever loads one, and the command and the store's thread with all that they
// import in one file each. Between modules V8 looks every constant and function up where it is used; in one file the
// windows of a request cost a tenth less.
//
//   node .build.mjs              all of it, unless dist/ has been built of these sources
//   node .build.mjs ENTRY FILE   one TypeScript file with all that it imports
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';

/** Writes what has changed, and at once: every command builds, also while another is starting from these files. */
const put = (file, bytes) => {
  if (existsSync(file) && readFileSync(file).equals(bytes)) return;
  mkdirSync(dirname(file), { recursive: true });
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, bytes);
  renameSync(unfinished, file);
};

const bundle = async (entry, file) => {
  const { outputFiles } = await build({
    entryPoints: [entry],
    outfile: file,
    write: false,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    // Constants are put where they are used.
    minifySyntax: true,
    logLevel: 'warning',
  });
  put(file, Buffer.from(outputFiles[0].contents));
};

/** What modules that are gone have left: nobody loads it, and a package would have it. */
const removeStale = () => {
  for (const name of readdirSync('dist', { recursive: true })) {
    const source = /\.m?js$/.test(name) && name.replace(/([^m])js$/, '$1ts');
    if (source && !existsSync(source)) rmSync(`dist/${name}`);
  }
};

const digestOf = (...places) => {
  const hash = createHash('sha256').update(process.version);
  for (const place of places) {
    const inside = { withFileTypes: true, recursive: true };
    const files = place.includes('.')
      ? [place]
      : readdirSync(place, inside).flatMap((each) => (each.isFile() ? [join(each.parentPath, each.name)] : []));
    for (const name of files.sort()) hash.update(`${name}\0`).update(readFileSync(name)).update('\0');
  }
  return hash.digest('hex');
};

/** The digests of what was built last, and of what was made of it. */
const stamp = 'dist/.built';
const sources = ['src', 'projections', '.build.mjs', 'package.json', 'tsconfig.json', '.tsconfig.build.json'];
const digestOfSources = () => digestOf(...sources);
const built = ['dist/src', 'dist/projections'];
const digestOfBuild = () => digestOf(...built);

const isBuilt = () => {
  if (!existsSync(stamp)) return false;
  const [source, build] = readFileSync(stamp, 'utf8').split(' ');
  const isWhole = built.every((folder) => existsSync(folder)) && build === digestOfBuild();
  // The compiler writes again only what has another source.
  if (!isWhole) rmSync('dist/.tsbuildinfo', { force: true });
  return isWhole && source === digestOfSources();
};

const buildAll = async () => {
  process.stderr.write('Building Weir, which takes some seconds\n');
  const { status } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.tsconfig.build.json'], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
  removeStale();
  for (const folder of ['src/embedded', 'src/kernel', 'src/rules', 'src/data/large']) {
    for (const name of readdirSync(folder)) {
      if (name.endsWith('.mjs')) put(`dist/${folder}/${name}`, readFileSync(`${folder}/${name}`));
    }
  }
  put('dist/src/audit/verify_export.py', readFileSync('src/audit/verify_export.py'));
  // Where those that load them look. A place that they name (import.meta.url) is reached from the folder above.
  await bundle('src/cli/program.ts', 'dist/src/cli/program.js');
  await bundle('src/embedded/worker.ts', 'dist/src/embedded/worker.js');
  put(stamp, Buffer.from(`${digestOfSources()} ${digestOfBuild()}`));
};

const [entry, file] = process.argv.slice(2);
if (entry) await bundle(entry, file);
else if (!isBuilt()) await buildAll();
