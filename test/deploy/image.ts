import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freshDir } from '../e2e/process.ts';
import { lacks, type Root } from './container.ts';

/**
 * The image, built from the Containerfile by buildah. No registry is asked: the base is a Debian root made by debootstrap, with
 * the Node and the npm that run here.
 */

const repository = fileURLToPath(new URL('../..', import.meta.url));
const isThere = (tool: string): boolean => spawnSync(tool, ['--version']).error === undefined;

export const imageLacks =
  process.env.DEPLOY_LONG !== '1'
    ? 'it takes minutes, and is run with DEPLOY_LONG=1'
    : (lacks ?? (['buildah', 'debootstrap'].every(isThere) ? undefined : 'it takes buildah and debootstrap of Debian'));

const authorities = '/etc/ssl/certs/ca-certificates.crt';

/** A root of Debian with Node and npm where the official image has them. */
const makeBase = (dir: string): void => {
  const root = join(dir, 'base');
  execFileSync('debootstrap', ['--variant=minbase', '--include=ca-certificates,libstdc++6', 'trixie', root], {
    stdio: 'ignore',
  });
  copyFileSync(authorities, join(root, authorities));
  copyFileSync(process.execPath, join(root, 'usr/local/bin/node'));
  const npm = dirname(dirname(realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim())));
  mkdirSync(join(root, 'usr/local/lib/node_modules'));
  cpSync(npm, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
};

/** Of a builder that keeps everything in one folder; its output is in the error where it fails. */
const buildahIn = (dir: string) => {
  const own = ['--storage-driver', 'vfs', '--root', join(dir, 'storage'), '--runroot', join(dir, 'run')];
  return (...args: readonly string[]): string =>
    execFileSync('buildah', [...own, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
};

let built: ReturnType<typeof buildahIn> | undefined;
let folder: string | undefined;
/** Takes minutes. @throws Error with what the builder said */
export const buildImage = (): void => {
  const dir = freshDir();
  mkdirSync(dir);
  folder = dir;
  makeBase(dir);
  writeFileSync(
    join(dir, 'Containerfile'),
    `FROM scratch\nADD base /\nENV PATH=${path} NODE_EXTRA_CA_CERTS=${authorities} npm_config_cafile=${authorities}\n`,
  );
  const buildah = buildahIn(dir);
  buildah('bud', '--isolation', 'chroot', '-t', 'base', dir);
  const base = ['--pull-never', '--build-arg', 'BASE=localhost/base'];
  const file = ['-f', join(repository, 'src/deploy/Containerfile'), '-t', 'weir', repository];
  buildah('bud', '--isolation', 'chroot', '--format', 'docker', ...base, ...file);
  built = buildah;
};

/** Takes long, too: there is a whole copy of the files for each container. */
export const removeImage = (): void => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
};

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** A root of its own, as a runtime makes it from the image. */
export const imageRoot = (): Root => {
  if (built === undefined) throw new Error('The image is not built.');
  return { at: built('mount', built('from', '--pull-never', 'localhost/weir')), bound: [], path };
};
