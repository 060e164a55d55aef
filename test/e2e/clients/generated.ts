import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { fromMaven, fromNpm } from '../../support/kept.ts';

/** Clients that others generate from the OpenAPI document: each is generated, compiled, and plays a round against a gateway. */

const run = promisify(execFile);
const longestMs = 300_000;

const rounds = fileURLToPath(new URL('rounds', import.meta.url));
const compiler = { typescript: '5.9.3' };
const npmPackages = {
  'openapi-typescript': {
    ...compiler,
    'openapi-typescript': '7.13.0',
    'openapi-fetch': '0.17.0',
    '@types/node': '20.19.43',
  },
  // The last one that runs on the oldest Node that Weir runs on.
  'hey-api': { ...compiler, '@hey-api/openapi-ts': '0.92.4', '@types/node': '20.19.43' },
};
const javaGenerator = 'org.openapitools:openapi-generator-cli:7.25.0';

export interface Round {
  readonly document: object;
  readonly baseUrl: string;
  readonly adminKey: string;
  readonly projectKey: string;
}
export type Outcome = { readonly told: unknown } | { readonly missing: string };

const folder = (document: object): string => {
  const dir = mkdtempSync(join(tmpdir(), 'weir-generated-'));
  writeFileSync(join(dir, 'weir.json'), JSON.stringify(document));
  return dir;
};
const within = async (cwd: string, command: string, ...args: readonly string[]): Promise<string> => {
  const { stdout } = await run('nice', [command, ...args], { cwd, timeout: longestMs, maxBuffer: 2 ** 26 }).catch(
    ({ stdout: said, stderr, code }) => {
      throw new Error(`${command} has ended with ${code}.\n${`${said}${stderr}`.slice(0, 4_000)}`);
    },
  );
  return stdout;
};
const lastLine = (text: string): unknown => JSON.parse(text.trim().split('\n').at(-1)!);

/** @param generate the arguments of the generator, which reads `weir.json` */
const typed = async (
  name: keyof typeof npmPackages,
  generate: readonly string[],
  { document, baseUrl, adminKey, projectKey }: Round,
): Promise<Outcome> => {
  const kept = await fromNpm(`generated-${name}`, npmPackages[name]);
  if ('missing' in kept) return kept;
  const dir = folder(document);
  symlinkSync(join(kept.dir, 'node_modules'), join(dir, 'node_modules'));
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  const bin = (command: string): string => join(dir, 'node_modules', '.bin', command);
  const [command, ...args] = generate as [string, ...string[]];
  await within(dir, bin(command), ...args);
  copyFileSync(join(rounds, `${name}.ts.txt`), join(dir, 'round.ts'));
  const options = ['--strict', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler'];
  await within(dir, bin('tsc'), ...options, '--skipLibCheck', '--types', 'node', '--noEmit', 'round.ts');
  const bundled = { bundle: true, format: 'esm', platform: 'node', outfile: join(dir, 'round.mjs') } as const;
  await build({ ...bundled, entryPoints: [join(dir, 'round.ts')], logLevel: 'error' });
  return { told: lastLine(await within(dir, process.execPath, 'round.mjs', baseUrl, adminKey, projectKey)) };
};

export const openapiTypescript = (round: Round): Promise<Outcome> =>
  typed('openapi-typescript', ['openapi-typescript', 'weir.json', '-o', 'weir.ts'], round);

export const heyApi = (round: Round): Promise<Outcome> =>
  typed('hey-api', ['openapi-ts', '-i', 'weir.json', '-o', 'weir', '-c', '@hey-api/client-fetch'], round);

/** The sources that openapi-generator makes. */
const generated = async (document: object, options: readonly string[]) => {
  const kept = await fromMaven(javaGenerator);
  if ('missing' in kept) return kept;
  const dir = folder(document);
  const jar = readdirSync(kept.dir).find((name) => name.startsWith('openapi-generator-cli'))!;
  await within(dir, 'java', '-jar', join(kept.dir, jar), 'generate', '-i', 'weir.json', '-o', 'out', ...options);
  return { dir: join(dir, 'out') };
};

const filesIn = (dir: string, ending: string): string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(dir, name));

export const java = async ({ document, baseUrl, adminKey }: Round): Promise<Outcome> => {
  const made = await generated(document, ['-g', 'java', '--library', 'okhttp-gson']);
  if ('missing' in made) return made;
  const { dir } = made;
  const libraries = ['-DoutputDirectory=lib', '-DincludeScope=compile'];
  await within(dir, 'mvn', '-q', '-B', 'dependency:copy-dependencies', ...libraries);
  copyFileSync(join(rounds, 'Round.java.txt'), join(dir, 'Round.java'));
  const sources = [...filesIn(join(dir, 'src', 'main'), '.java'), 'Round.java'];
  await within(dir, 'javac', '-nowarn', '-d', 'classes', '-cp', 'lib/*', ...sources);
  return { told: lastLine(await within(dir, 'java', '-cp', 'classes:lib/*', 'Round', baseUrl, adminKey)) };
};

/** Every type that its C# has: nothing here compiles it. */
export const csharpTypes = async (
  document: object,
): Promise<{ readonly names: readonly string[] } | { missing: string }> => {
  const made = await generated(document, ['-g', 'csharp']);
  if ('missing' in made) return made;
  const text = filesIn(join(made.dir, 'src'), '.cs').map((file) => readFileSync(file, 'utf8'));
  const types = text.flatMap((each) => [...each.matchAll(/^\s*public [\w ]*\b(?:class|enum|struct) (\w+)/gm)]);
  return { names: types.map(([, name]) => name!) };
};
