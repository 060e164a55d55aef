import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile, has, isRoot, noCompiler, type Scene, tool } from './scene.ts';

/** A file system in a file of its own, whose power can be cut. */
export interface LoopDisk {
  /** Where it is mounted. */
  readonly path: string;
  cutPower(): void;
  unmount(): void;
  mount(): void;
}

/** Why there is no such disk here; undefined where there is. */
export function noLoopDisk(): string | undefined {
  if (process.platform !== 'linux') return 'loop devices are Linux';
  if (!isRoot) return 'only root can mount a disk';
  if (!has('losetup', '--find')) return 'there is no free loop device';
  if (!has('mkfs.ext4', '-V')) return 'there is no mkfs.ext4';
  return undefined;
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
