import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile, has, noCompiler, type Scene, tool } from './scene.ts';

/** A file system in a file of its own, whose power can be cut. */
export interface LoopDisk {
  /** Where it is mounted. */
  readonly path: string;
  cutPower(): void;
  unmount(): void;
  mount(): void;
}

const whyNotMount = (): string | undefined => {
  if (process.platform !== 'linux') return 'this is not Linux';
  if (process.getuid?.() !== 0) return 'only root can mount a disk';
  const dir = mkdtempSync(join(tmpdir(), 'weir-torture-'));
  try {
    if (!has('mount', '-t', 'tmpfs', 'tmpfs', dir)) return 'this root may not mount a disk';
    tool('umount', dir);
    return undefined;
  } finally {
    rmdirSync(dir);
  }
};

let tried: { readonly why: string | undefined } | undefined;

/** Why nothing can be mounted here; undefined where it can. A root of a container often may not. */
export const noMount = (): string | undefined => {
  tried ??= { why: whyNotMount() };
  return tried.why;
};

/** Why there is no disk in a file here; undefined where there is. */
export const noLoopDisk = (): string | undefined =>
  noMount() ??
  (has('mkfs.ext4', '-V') ? undefined : 'there is no mkfs.ext4') ??
  (has('losetup', '--find') ? undefined : 'there is no free loop device');

/** A file system in memory, at the path that is returned. */
export function tmpfs(scene: Scene, megabytes: number): string {
  const path = join(scene.dir(), 'mounted');
  mkdirSync(path);
  tool('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path);
  scene.later(() => tool('umount', '--lazy', path));
  return path;
}

/** Where nothing can be written over in its place, as far as anybody knows: a file system in memory under an overlay. */
export function overlay(scene: Scene, megabytes: number): string {
  const below = tmpfs(scene, megabytes);
  const [lower, upper, work, path] = ['lower', 'upper', 'work', 'mounted'].map((name) => join(below, name));
  for (const dir of [lower!, upper!, work!, path!]) mkdirSync(dir);
  tool('mount', '-t', 'overlay', 'overlay', '-o', `lowerdir=${lower},upperdir=${upper},workdir=${work}`, path!);
  scene.later(() => tool('umount', '--lazy', path!));
  return path!;
}

const written = (file: number, piece: Buffer): number => {
  try {
    return writeSync(file, piece);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    return 0;
  }
};

/** Takes what is left of a disk, to the last byte. @returns the file that takes it, beside what is there already */
export function fillToTheLastByte(path: string): string {
  const others = join(path, 'others');
  const file = openSync(others, 'a');
  try {
    for (const size of [2 ** 20, 4096, 1]) {
      const piece = Buffer.alloc(size);
      while (written(file, piece) === size);
    }
  } finally {
    closeSync(file);
  }
  return others;
}

type FileSystem = 'ext4' | 'xfs';

/** Those whose tools are here. mkfs.xfs wants at least 300 MB. */
export const fileSystems = (): FileSystem[] => (has('mkfs.xfs', '-V') ? ['ext4', 'xfs'] : ['ext4']);

/** @param megabytes of the disk; its file is sparse */
export function loopDisk(scene: Scene, megabytes: number, kind: FileSystem = 'ext4'): LoopDisk {
  const dir = scene.dir();
  const image = join(dir, 'image');
  const path = join(dir, 'mounted');
  mkdirSync(path);
  writeFileSync(image, '');
  truncateSync(image, megabytes * 2 ** 20);
  tool(`mkfs.${kind}`, ...(kind === 'ext4' ? ['-q', '-F', '-m', '0'] : ['-q', '-f']), image);
  const cutter = noCompiler === undefined ? compile('shims/cut-power.c', dir, 'program') : undefined;
  let isMounted = false;
  const disk: LoopDisk = {
    path,
    mount() {
      scene.goOn();
      tool('mount', '-o', 'loop', image, path);
      isMounted = true;
    },
    unmount() {
      tool('umount', path);
      isMounted = false;
    },
    cutPower() {
      if (cutter === undefined) throw new Error('cutting the power needs a C compiler');
      tool(cutter, path);
    },
  };
  disk.mount();
  scene.later(() => {
    if (isMounted) tool('umount', '--lazy', path);
  });
  return disk;
}
