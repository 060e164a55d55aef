// Builds dist/: each module by itself, for whoever loads one, and the command and the store's thread with all that they
// import in one file each. Between modules V8 looks every constant and function up where it is used; in one file the
// windows of a request cost a tenth less.
//
//   node .build.mjs              all of it, after tsc
//   node .build.mjs ENTRY FILE   one TypeScript file with all that it imports
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
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

const [entry, file] = process.argv.slice(2);
if (entry) await bundle(entry, file);
else {
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
}
