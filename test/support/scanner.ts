import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/**
 * The scanner's binary is kept beside its source, since the compiler is ten times what it compiles for. This builds it:
 *
 *   npx tsx test/support/scanner.ts      writes src/json/tape/scanner-binary.ts
 */

const version = '0.28.20';
const run = promisify(execFile);
const source = fileURLToPath(new URL('../../src/json/tape/scanner.as', import.meta.url));
const target = fileURLToPath(new URL('../../src/json/tape/scanner-binary.ts', import.meta.url));

const options = ['-O3', '--runtime', 'stub', '--noAssert', '--zeroFilledMemory', '--enable', 'simd'];
/** Pages of 64 KiB: one for what is kept aside, 16 for the tape, 16 for the document, one for what reads past it. */
const pages = 34;

/** The folder of the compiler, kept for the next run. @throws Error where it cannot be had */
const compiler = async (): Promise<string> => {
  const dir = join(tmpdir(), `weir-assemblyscript-${version}-${userInfo().uid}`);
  // Written last: a folder without it is what an installation that was broken off has left.
  const complete = join(dir, 'complete');
  if (existsSync(complete)) return dir;
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'package.json'), '{"private":true}');
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', ...quiet, `assemblyscript@${version}`], { cwd: dir, timeout: 120_000 });
  writeFileSync(complete, '');
  return dir;
};

/** What the source compiles to, or why it cannot be compiled here. */
export const compiled = async (): Promise<{ readonly binary: Buffer } | { readonly missing: string }> => {
  let dir: string;
  try {
    dir = await compiler();
  } catch (error) {
    const { message, stderr = '' } = error as Error & { stderr?: string };
    return { missing: stderr.trim().split('\n').at(-1) || message };
  }
  const work = mkdtempSync(join(dir, 'build-'));
  try {
    // The compiler wants its own language to be called TypeScript.
    copyFileSync(source, join(work, 'scanner.ts'));
    const asc = join(dir, 'node_modules', 'assemblyscript', 'bin', 'asc.js');
    const args = [asc, 'scanner.ts', ...options, '--initialMemory', `${pages}`, '-o', 'scanner.wasm'];
    await run(process.execPath, args, { cwd: work });
    return { binary: readFileSync(join(work, 'scanner.wasm')) };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const result = await compiled();
  if ('missing' in result) throw new Error(result.missing);
  const lines = result.binary.toString('base64').match(/.{1,110}/g) ?? [];
  const text = lines.map((line) => `  '${line}'`).join(',\n');
  const intro = '/** `scanner.as`, compiled, in base64; `test/support/scanner.ts` writes this file. */';
  writeFileSync(target, `${intro}\nexport const scannerBinary = [\n${text},\n].join('');\n`);
}
