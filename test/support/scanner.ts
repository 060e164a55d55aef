import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fromNpm } from './kept.ts';

/**
 * The scanner's binary is kept beside its source, since the compiler is ten times what it compiles for. This builds it:
 *
 *   npx tsx test/support/scanner.ts      writes src/json/scanner-binary.ts
 */

const version = '0.28.20';
const run = promisify(execFile);
const source = fileURLToPath(new URL('../../src/json/scanner.as', import.meta.url));
const target = fileURLToPath(new URL('../../src/json/scanner-binary.ts', import.meta.url));

const options = ['-O3', '--runtime', 'stub', '--noAssert', '--zeroFilledMemory', '--enable', 'simd'];
/** Pages of 64 KiB for documents of up to 1 MiB and their tape; larger ones let it grow. */
const pages = 34;

/** What the source compiles to, or why it cannot be compiled here. */
export const compiled = async (): Promise<{ readonly binary: Buffer } | { readonly missing: string }> => {
  const compiler = await fromNpm('assemblyscript', { assemblyscript: version });
  if ('missing' in compiler) return compiler;
  const { dir } = compiler;
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
