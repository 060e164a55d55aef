import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chownSync, copyFileSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually, freshDir } from '../e2e/process.ts';
import { containerfile } from './containerfile.ts';

/** A container without its runtime: a root, read-only but for volumes and /tmp, in namespaces of its own, as the user without rights. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const image = containerfile();
const [uid = 0, gid = 0] = image.user.split(':').map(Number);

/** What this machine lacks for it; undefined where it lacks nothing. */
export const lacks =
  process.getuid?.() === 0 &&
  ['setpriv', 'nsenter', 'ip'].every((tool) => spawnSync(tool, ['-V']).status === 0) &&
  spawnSync('unshare', ['--mount', '--net', '--pid', '--fork', 'true']).status === 0
    ? undefined
    : 'it takes root, and namespaces of Linux';

/** What a container sees as its files. */
export interface Root {
  readonly at: string;
  /** Of this machine, bound over places in it, read-only. */
  readonly bound: readonly (readonly [from: string, to: string])[];
  readonly path: string;
}

export interface Container {
  /** Of its first process, as this machine counts. */
  readonly pid: number;
  /** Of the processes that its first one has made. */
  children(): readonly number[];
  readonly log: () => string;
  readonly exited: Promise<number | null>;
  /** Runs a command in it, as its user. */
  run(command: readonly string[]): { readonly status: number | null; readonly stdout: string; readonly stderr: string };
}

const running: ChildProcess[] = [];
export const endAll = (): void => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
};

/** A root with node, the system's libraries, and what the last stage copies, at the places that it says. */
export const laidOut = (): Root => {
  const at = freshDir();
  const opt = join(at, 'opt/weir');
  for (const dir of ['proc', 'dev', 'tmp', 'etc', 'usr', 'usr-local', 'opt/weir', ...image.volumes]) {
    mkdirSync(join(at, dir), { recursive: true });
  }
  for (const volume of image.volumes) chownSync(join(at, volume), uid, gid);
  copyFileSync('/etc/ld.so.cache', join(at, 'etc/ld.so.cache'));
  for (const link of ['bin', 'lib', 'lib64', 'sbin'])
    if (existsSync(`/usr/${link}`)) symlinkSync(`usr/${link}`, join(at, link));
  const bound: [string, string][] = [
    ['/usr', 'usr'],
    [dirname(process.execPath), 'usr-local'],
  ];
  for (const { from, paths } of image.copied) {
    if (from === 'the repository') continue;
    for (const path of paths) {
      const own = path.replace('/build/', '');
      if (statSync(join(root, own)).isDirectory()) {
        mkdirSync(join(opt, own));
        bound.push([join(root, own), `opt/weir/${own}`]);
      } else copyFileSync(join(root, own), join(opt, own));
    }
  }
  return { at, bound, path: '/usr-local:/usr/bin:/usr/sbin' };
};

/** Mounts what belongs into the root, makes all but volumes and /tmp read-only, and becomes the first process there. */
const entering = ({ at, bound, path }: Root, { env: own = {}, init = false }: Settings): string => {
  const readOnly = bound.flatMap(([from, to]) => [
    `mount --bind '${from}' '${at}/${to}'`,
    `mount -o remount,bind,ro '${at}/${to}'`,
  ]);
  const env = Object.entries({ PATH: path, ...image.env, DRAIN_MS: '5000', ...own }).map(
    ([name, value]) => `${name}=${value}`,
  );
  const command = `env -i ${env.join(' ')} chroot '${at}' setpriv --reuid ${uid} --regid ${gid} --clear-groups --no-new-privs --bounding-set -all --inh-caps -all ${[...image.entrypoint, ...image.command].join(' ')}`;
  return [
    'set -e',
    'mount --make-rprivate /',
    `mount --bind '${at}' '${at}'`,
    ...readOnly,
    `mount -t proc proc '${at}/proc'`,
    `mount --bind /dev '${at}/dev'`,
    `mount -t tmpfs tmpfs '${at}/tmp'`,
    ...image.volumes.map((volume) => `mount --bind '${at}${volume}' '${at}${volume}'`),
    `mount -o remount,bind,ro '${at}'`,
    'ip link set lo up',
    // An init does no more than this: it waits, and passes on what it is sent.
    init ? `trap 'kill -TERM $!' TERM; ${command} & wait $! || wait $!` : `exec ${command}`,
  ].join('\n');
};

interface Settings {
  /** Beside that of the image. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether Weir is the child of a first process, and not that process itself. */
  readonly init?: boolean;
}

/** Starts the image's command in a root. What was written into the volumes of the same root before is there. */
export const start = async (from: Root, settings: Settings = {}): Promise<Container> => {
  const namespaces = ['--mount', '--net', '--pid', '--ipc', '--uts', '--fork', '--kill-child'];
  const child = spawn('unshare', [...namespaces, 'sh', '-c', entering(from, settings)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.push(child);
  let log = '';
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding('utf8').on('data', (text) => {
      log += text;
    });
  }
  const exited = new Promise<number | null>((ended) => child.once('close', (code) => ended(code)));
  const childrenOf = (parent?: number): number[] =>
    readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ').map(Number).filter(Boolean);
  const pid = await eventually(
    () => childrenOf(child.pid)[0],
    () => log,
  );
  return {
    pid,
    children: () => childrenOf(pid),
    log: () => log,
    exited,
    run(command) {
      const into = [
        '--target',
        String(pid),
        '--mount',
        '--net',
        '--pid',
        '--root',
        '--wd',
        '--setgid',
        String(gid),
        '--setuid',
        String(uid),
      ];
      const env = { PATH: from.path, ...image.env, ...settings.env };
      return spawnSync('nsenter', [...into, ...command], { env, encoding: 'utf8' });
    },
  };
};

export const healthy = (container: Container): Promise<true> =>
  eventually(() => (container.run(image.healthCheck).status === 0 ? true : undefined), container.log, 60_000);
