import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deserialize, serialize } from 'node:v8';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';

/** What a released version has left behind, and what it said of it: one small file for each version. */
export interface Fixture {
  readonly version: string;
  /** All of DATA_DIR and SECRETS_DIR, by paths relative to the folder that both are in. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly organizationId: string;
  readonly adminKey: string;
  /** An OAuth client that still exists. */
  readonly oauthClient: { readonly id: string; readonly secret: string };
  /** Project keys that work, and those that are refused. */
  readonly liveKeys: readonly string[];
  readonly deadKeys: readonly string[];
  readonly projectId: string;
  /** What the administration answered, by its path. */
  readonly shown: Readonly<Record<string, unknown>>;
  /** What `GET /v1/credits` answered to the first of the live keys. */
  readonly credits: unknown;
}

const folder = fileURLToPath(new URL('versions', import.meta.url));

export const fixtureVersions = (): string[] => readdirSync(folder).map((file) => basename(file, '.br'));

export const readFixture = (version: string): Fixture =>
  deserialize(brotliDecompressSync(readFileSync(join(folder, `${version}.br`)))) as Fixture;

export const writeFixture = (fixture: Fixture): string => {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${fixture.version}.br`);
  const params = { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: 0 };
  writeFileSync(file, brotliCompressSync(serialize(fixture), { params }));
  return file;
};

/** What running processes keep for themselves, and what the store holds in reserve for a full disk. */
const passing = /(^|\/)(lock|lock\.mdb|endpoint|ballast|reserve)$|-lock$/;

/** Every file below a folder that the next start would miss. */
export const filesBelow = (dir: string): Record<string, Uint8Array> => {
  const files: Record<string, Uint8Array> = {};
  for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort()) {
    const path = join(dir, name);
    if (statSync(path).isFile() && !passing.test(name)) files[name] = readFileSync(path);
  }
  return files;
};

/** Lays the files out below `dir`, private as they were. */
export const layOut = ({ files }: Fixture, dir: string): void => {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true, mode: 0o700 });
    writeFileSync(join(dir, name), content, { mode: 0o600 });
  }
};
