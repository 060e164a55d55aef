import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chownSync, copyFileSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { eventually, freshDir } from '../e2e/process.ts';
import { containerfile } from './containerfile.ts';

/**
 * The image as a container, without its runtime: the files that the Containerfile names over this machine's own libraries, read-only,
 * in namespaces of its own, as the user without rights.
 */
vi.setConfig({ testTimeout: 120_000 });

const root = fileURLToPath(new URL('../..', import.meta.url));
const image = containerfile();
const [uid = 0, gid = 0] = image.user.split(':').map(Number);

const mayIsolate =
  process.getuid?.() === 0 &&
  ['setpriv', 'nsenter', 'ip'].every((tool) => spawnSync(tool, ['-V']).status === 0) &&
  spawnSync('unshare', ['--mount', '--net', '--pid', '--fork', 'true']).status === 0;
const why = mayIsolate ? '' : ' (skipped: it takes root, and namespaces of Linux)';

interface Container {
  /** Of its first process, as this machine counts. */
  readonly pid: number;
  readonly log: () => string;
  readonly exited: Promise<number | null>;
  /** Runs a command in it, as its user. */
  run(command: readonly string[]): { readonly status: number | null; readonly stdout: string; readonly stderr: string };
}

const running: ChildProcess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
});

/** A root with node, the system's libraries, and what the last stage copies, at the places that it says. */
const layOut = (at: string): void => {
  const opt = join(at, 'opt/weir');
  for (const dir of ['proc', 'dev', 'tmp', 'etc', 'usr', 'usr-local', 'opt/weir', ...image.volumes]) {
    mkdirSync(join(at, dir), { recursive: true });
  }
  for (const volume of image.volumes) chownSync(join(at, volume), uid, gid);
  copyFileSync('/etc/ld.so.cache', join(at, 'etc/ld.so.cache'));
  for (const link of ['bin', 'lib', 'lib64', 'sbin'])
    if (existsSync(`/usr/${link}`)) symlinkSync(`usr/${link}`, join(at, link));
  for (const { from, paths } of image.copied) {
    if (from === 'the repository') continue;
    for (const path of paths) {
      const own = path.replace('/build/', '');
      if (statSync(join(root, own)).isDirectory()) mkdirSync(join(opt, own));
      else copyFileSync(join(root, own), join(opt, own));
    }
  }
};

/** Mounts what belongs into the root, makes all but volumes and /tmp read-only, and becomes the first process there. */
const entering = (at: string): string => {
  const folders = image.copied
    .filter(({ from }) => from !== 'the repository')
    .flatMap(({ paths }) => paths.map((path) => path.replace('/build/', '')))
    .filter((own) => statSync(join(root, own)).isDirectory());
  const readOnly = [
    ['/usr', 'usr'],
    [dirname(process.execPath), 'usr-local'],
    ...folders.map((own) => [join(root, own), `opt/weir/${own}`]),
  ].flatMap(([from, to]) => [`mount --bind '${from}' '${at}/${to}'`, `mount -o remount,bind,ro '${at}/${to}'`]);
  const env = Object.entries({ PATH: '/usr-local:/usr/bin:/usr/sbin', ...image.env, DRAIN_MS: '5000' }).map(
    ([name, value]) => `${name}=${value}`,
  );
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
    `exec env -i ${env.join(' ')} chroot '${at}' setpriv --reuid ${uid} --regid ${gid} --clear-groups --no-new-privs --bounding-set -all --inh-caps -all ${[...image.entrypoint, ...image.command].join(' ')}`,
  ].join('\n');
};

const start = async (at: string): Promise<Container> => {
  const namespaces = ['--mount', '--net', '--pid', '--ipc', '--uts', '--fork', '--kill-child'];
  const child = spawn('unshare', [...namespaces, 'sh', '-c', entering(at)], { stdio: ['ignore', 'pipe', 'pipe'] });
  running.push(child);
  let log = '';
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding('utf8').on('data', (text) => {
      log += text;
    });
  }
  const exited = new Promise<number | null>((ended) => child.once('close', (code) => ended(code)));
  const children = `/proc/${child.pid}/task/${child.pid}/children`;
  const pid = await eventually(
    () => Number(readFileSync(children, 'utf8').trim()) || undefined,
    () => log,
  );
  return {
    pid,
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
      const env = { PATH: '/usr-local:/usr/bin:/usr/sbin', ...image.env };
      return spawnSync('nsenter', [...into, ...command], { env, encoding: 'utf8' });
    },
  };
};

const healthy = (container: Container): Promise<true> =>
  eventually(() => (container.run(image.healthCheck).status === 0 ? true : undefined), container.log, 60_000);

const newRoot = (): string => {
  const at = freshDir();
  mkdirSync(at);
  layOut(at);
  return at;
};

describe.skipIf(!mayIsolate)(`the container${why}`, () => {
  test('is healthy by its own check, without any right, and writes into its volumes alone', async () => {
    const container = await start(newRoot());
    await healthy(container);
    const status = readFileSync(`/proc/${container.pid}/status`, 'utf8');
    expect(status).toMatch(new RegExp(`^Uid:\t${uid}\t${uid}\t${uid}\t${uid}$`, 'm'));
    for (const set of ['CapEff', 'CapPrm', 'CapBnd']) expect(status).toMatch(new RegExp(`^${set}:\t0+$`, 'm'));
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(container.run(['touch', '/opt/weir/anything']).stderr).toContain('Read-only file system');
    await eventually(() => container.log().includes('Admin key') || undefined, container.log);

    const made = container.run([...image.entrypoint, 'org', 'create', '--name', 'Acme', '--jsonl']);
    expect(made.stderr).toBe('');
    const { admin_api_key: key } = JSON.parse(made.stdout) as { admin_api_key: string };
    const ask = `fetch('http://127.0.0.1:8080/v1/organization', { headers: { authorization: 'Bearer ${key}' } }).then(async (r) => console.log(r.status, await r.text()))`;
    expect(container.run(['node', '-e', ask]).stdout).toMatch(/^200 .*"Acme"/);
    process.kill(container.pid, 'SIGTERM');
    expect(await container.exited).toBe(0);
  });

  test('ends by SIGTERM, as the first process that it is, also while it starts', async () => {
    for (const afterMs of [0, 150, 300]) {
      const at = newRoot();
      const container = await start(at);
      // Before that it is Node alone, to which as a first process the kernel passes nothing on.
      await eventually(() => existsSync(join(at, image.env.DATA_DIR!, 'eventstore')) || undefined, container.log);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      process.kill(container.pid, 'SIGTERM');
      expect(await container.exited, `after ${afterMs} ms: ${container.log()}`).not.toBeNull();
    }
  });
});
