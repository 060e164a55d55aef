import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PlantedFault, plantedFaults } from './faults.ts';

/** How many are planted, each a run of tests of its own: none in `npm run test:rest`, all of them in `npm run torture -- Q1`. */
const planted = Math.min(Number(process.env.PLANTED_FAULTS ?? 0), plantedFaults.length);

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

describe.runIf(planted > 0)('a planted fault is noticed', () => {
  let copy: string;
  beforeAll(() => {
    copy = mkdtempSync(join(tmpdir(), 'weir-planted-'));
    for (const name of [
      'src',
      'projections',
      'test',
      'bench',
      'package.json',
      'tsconfig.json',
      '.tsconfig.build.json',
      '.build.mjs',
    ])
      cpSync(join(root, name), join(copy, name), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  });
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  /** The tests that fail of those that are there to notice it, in the copy. @throws Error where none has run */
  const run = async ({ test: file, only }: PlantedFault): Promise<readonly string[]> => {
    const out = join(copy, 'report.json');
    rmSync(out, { force: true });
    const command = [
      'vitest',
      'run',
      '--config',
      'test/vitest.config.ts',
      '--reporter=json',
      '--outputFile',
      out,
      file,
    ];
    if (only !== undefined) command.push('-t', only);
    const said = await new Promise<string>((resolve) => {
      const env = { ...process.env, PLANTED_FAULTS: '0' };
      execFile('npx', command, { cwd: copy, env, maxBuffer: 2 ** 26 }, (_, stdout, stderr) => resolve(stdout + stderr));
    });
    const { testResults } = JSON.parse(readFileSync(out, 'utf8')) as Report;
    const results = testResults.flatMap(({ assertionResults }) => assertionResults);
    const named = (status: string) => results.filter((each) => each.status === status).map(({ fullName }) => fullName);
    const [passed, failed] = [named('passed'), named('failed')];
    // A fault that does not compile is noticed by nobody's tests.
    if (passed.length + failed.length === 0) throw new Error(`no test has run: ${said.slice(-2_000)}`);
    return failed;
  };

  const chosen = plantedFaults.slice(0, planted);
  const runs = [...new Map(chosen.map((fault) => [[fault.test, fault.only].join(' ').trim(), fault])).entries()];

  test.each(runs)('without any, %s passes', { timeout: 300_000 }, async (_, fault) => {
    expect(await run(fault)).toEqual([]);
  });

  test.each(chosen)('$title', { timeout: 300_000 }, async (fault) => {
    const file = join(copy, fault.file);
    const text = readFileSync(file, 'utf8');
    const faulty = text.replace(fault.from, () => fault.to);
    writeFileSync(file, faulty);
    try {
      expect(await run(fault)).not.toEqual([]);
    } finally {
      writeFileSync(file, text);
    }
  });
});
