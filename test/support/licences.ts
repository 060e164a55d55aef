import { readFileSync } from 'node:fs';

interface Locked {
  readonly license?: string;
  readonly name?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

/** Binaries of one platform each: the lockfile has the licence of those that npm could see when it was written. */
const platform = /(?:linux|darwin|win32)-(?:x64|arm64|arm|ia32)(?:-\w+)?$/;

const locked = (): [path: string, package_: Locked][] => {
  const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
    packages: Record<string, Locked>;
  };
  return Object.entries(lock.packages).filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional);
};

/** Where the packages that an installed Weir has lie in the repository, of this platform and others. */
export const installedPackages = (): string[] => locked().map(([path]) => path);

/** The licences of all packages that an installed Weir has, by the licence; what has none in the lockfile is under `unknown`. */
export const licences = (): ReadonlyMap<string, readonly string[]> => {
  const of = new Map<string, string>();
  for (const [path, { license, name }] of locked()) {
    const installed = (name ?? path.replace(/^.*node_modules\//, '')).replace(platform, '*');
    if (license !== undefined || !of.has(installed)) of.set(installed, license ?? 'unknown');
  }
  const by = new Map<string, string[]>();
  for (const [name, licence] of [...of].sort()) by.set(licence, [...(by.get(licence) ?? []), name]);
  return new Map([...by].sort());
};

export const licencesTable = (): string =>
  [
    '| licence | packages |',
    '|---|---|',
    ...[...licences()].map(([licence, names]) => `| ${licence} | ${names.map((name) => `\`${name}\``).join(', ')} |`),
  ].join('\n');
