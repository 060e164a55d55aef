import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { describeConfig, readConfig } from '../../src/config/config.ts';
import { freshDir } from '../e2e/process.ts';
import { containerfile } from './containerfile.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const deploy = join(root, 'src/deploy');
const textOf = (name: string): string => readFileSync(join(deploy, name), 'utf8');
const { version, bin, files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
  bin: Record<string, string>;
  files: string[];
};

/** What Weir reads of its environment. */
const variables = new Set(Array.from(describeConfig().matchAll(/^ {2}([A-Z_]+)/gm), ([, name]) => name!));
/** What Node itself and the libraries read. */
const others = new Set(['NODE_ENV']);
const expectKnown = (env: Readonly<Record<string, string>>): void => {
  expect(Object.keys(env).filter((name) => !variables.has(name) && !others.has(name))).toEqual([]);
  readConfig(env);
};

interface Service {
  readonly image: string;
  readonly build?: { context: string; dockerfile: string };
  readonly environment?: Record<string, string>;
  readonly volumes?: string[];
  readonly networks?: string[] | Record<string, { ipv4_address: string }>;
  readonly depends_on?: string[] | Record<string, unknown>;
  readonly healthcheck?: { test: string[] };
  readonly [other: string]: unknown;
}
interface Compose {
  readonly services: Record<string, Service>;
  readonly volumes: Record<string, unknown>;
  readonly networks?: Record<string, { ipam: { config: { subnet: string }[] } }>;
}
const password = 'f00';
/** With the variables of the shell filled in, each of which has to be demanded. */
const composeOf = (name: string): Compose =>
  parse(
    textOf(name)
      .replace(/\$\{KURRENTDB_PASSWORD:\?[^}]+\}/g, password)
      .replace(/\$\{[^}]*\}/g, (other) => {
        throw new Error(`${other} is not KURRENTDB_PASSWORD`);
      }),
    { merge: true },
  ) as Compose;
const namesOf = (list: string[] | Record<string, unknown> = []): string[] =>
  Array.isArray(list) ? list : Object.keys(list);
const seconds = (text: unknown): number => Number(/^(\d+)s$/.exec(String(text))?.[1]);
const mostDrainSeconds = readConfig({}).DRAIN_MS / 1000;

describe('the image', () => {
  const { copied, env, user, entrypoint, volumes, stopSignal, healthCheck } = containerfile();

  test('takes from the repository what is there, and from its first stage what that makes', () => {
    for (const { from, paths } of copied)
      for (const path of paths)
        expect(existsSync(join(root, path.replace('/build/', ''))), `${from}: ${path}`).toBe(true);
    const ignored = textOf('../../.dockerignore').split('\n');
    for (const name of ['src', 'projections', 'package.json', '.build.mjs', 'LICENSE'])
      expect(ignored).not.toContain(name);
    for (const name of ['node_modules', 'data', 'data.secrets', '.git']) expect(ignored).toContain(name);
  });

  test('is told nothing that Weir does not read, and writes into its volumes alone', () => {
    expectKnown(env);
    expect([...volumes].sort()).toEqual([env.DATA_DIR, env.SECRETS_DIR].sort());
  });

  test('runs the command of the package as a number that is not root, and is ended by SIGTERM', () => {
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(entrypoint).toEqual(['node', `/opt/weir/${bin.weir}`]);
    expect(stopSignal).toBe('SIGTERM');
    expect(existsSync(join(root, healthCheck.at(-1)!.replace('/opt/weir/', '')))).toBe(true);
  });
});

describe('compose.yaml', () => {
  const { services, volumes } = composeOf('compose.yaml');
  const weir = services.weir!;

  test('builds the image from files that are there, and names it by the version', () => {
    expect(existsSync(join(deploy, weir.build!.context, weir.build!.dockerfile))).toBe(true);
    expect(weir.image).toBe(`localhost/weir:${version}`);
  });

  test('sets variables that Weir reads, and keeps what it writes', () => {
    const image = containerfile();
    expectKnown({ ...image.env, ...weir.environment });
    const mounts = weir.volumes!.map((each) => each.split(':') as [string, string]);
    expect(mounts.map(([, path]) => path).sort()).toEqual([...image.volumes].sort());
    for (const [name] of mounts) expect(Object.keys(volumes)).toContain(name);
    expect(weir.user).toBe(image.user);
  });

  test('asks for its health as the image does', () => {
    expect(weir.healthcheck!.test).toEqual(['CMD', ...containerfile().healthCheck]);
  });

  test('gives it no rights, and the time that it takes to end', () => {
    expect(weir).toMatchObject({
      read_only: true,
      tmpfs: ['/tmp'],
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      init: true,
    });
    // After the answers in flight it closes what it has open, for ten seconds at most.
    expect(seconds(weir.stop_grace_period)).toBeGreaterThanOrEqual(mostDrainSeconds + 10);
    expect(weir.ports).toEqual(['127.0.0.1:8080:8080']);
  });
});

describe('compose.cluster.yaml', () => {
  const { services, volumes, networks } = composeOf('compose.cluster.yaml');
  const { weir, certificates, ...nodes } = services as Record<string, Service>;
  const addressOf = (node: Service): string =>
    Object.values(node.networks as Record<string, { ipv4_address: string }>)[0]!.ipv4_address;
  const addresses = Object.values(nodes).map(addressOf);

  test('has three nodes that know each other, and a gateway that knows them all', () => {
    expect(new Set(addresses).size).toBe(3);
    for (const node of Object.values(nodes)) {
      const own = addressOf(node);
      const rest = addresses.filter((address) => address !== own).map((address) => `${address}:2113`);
      expect(node.environment).toMatchObject({
        KURRENTDB_CLUSTER_SIZE: '3',
        KURRENTDB_GOSSIP_SEED: rest.join(','),
        KURRENTDB_REPLICATION_IP: own,
        KURRENTDB_ADVERTISE_HOST_TO_CLIENT_AS: own,
        KURRENTDB_DEFAULT_ADMIN_PASSWORD: password,
      });
    }
    const subnet = Object.values(networks!)[0]!.ipam.config[0]!.subnet;
    for (const address of addresses) expect(address.startsWith(subnet.replace(/0\/24$/, ''))).toBe(true);
    expectKnown(weir!.environment!);
    expect(weir!.environment!.EVENTSTORE_URL).toBe(
      `esdb://admin:${password}@${addresses.map((address) => `${address}:2113`).join(',')}?tlsCAFile=/authority/ca.crt`,
    );
  });

  test('has nothing without TLS, and shows no private key to the gateway or to another node', () => {
    const text = textOf('compose.cluster.yaml');
    expect(text).not.toMatch(/INSECURE|tls=false|tlsVerifyCert/i);
    expect(weir!.volumes).toEqual(['authority:/authority:ro']);
    const ofNodes = Object.values(nodes).map(({ volumes: mounted }) =>
      mounted!.find((each) => each.endsWith(':/certificate:ro')),
    );
    expect(new Set(ofNodes).size).toBe(3);
    expect(ofNodes).not.toContain(undefined);
    for (const { ports } of Object.values(nodes)) expect(ports).toBeUndefined();
  });

  test('names services, volumes, networks and files that are declared', () => {
    for (const [name, service] of Object.entries(services)) {
      for (const needed of namesOf(service.depends_on)) expect(Object.keys(services), name).toContain(needed);
      for (const mount of service.volumes ?? []) expect(Object.keys(volumes), name).toContain(mount.split(':')[0]);
      for (const network of namesOf(service.networks)) expect(Object.keys(networks!), name).toContain(network);
    }
    // What the nodes read is what the first container writes.
    const script = (certificates!.entrypoint as string[]).join('\n');
    for (const [index, node] of Object.values(nodes).entries()) {
      expect(node.volumes).toContain(`certificate${index + 1}:/certificate:ro`);
      expect(certificates!.volumes).toContain(`certificate${index + 1}:/certificate${index + 1}`);
      expect(node.environment!.KURRENTDB_CERTIFICATE_FILE).toBe('/certificate/node.crt');
      expect(node.environment!.KURRENTDB_CERTIFICATE_PRIVATE_KEY_FILE).toBe('/certificate/node.key');
      expect(addresses[index]).toBe(`172.30.240.1${index + 1}`);
    }
    expect(script).toContain('cp node/node.crt node/node.key /certificate$$n/');
    expect(script).toContain('-ip-addresses 127.0.0.1,172.30.240.1$$n');
    expect(spawnSync('bash', ['-n', '-c', script.replaceAll('$$', '$')]).status).toBe(0);
  });
});

describe('weir.service', () => {
  const text = textOf('weir.service');
  const all = (name: string): string[] =>
    Array.from(text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm')), ([, value]) => value!);
  const one = (name: string): string => {
    const found = all(name);
    expect(found, name).toHaveLength(1);
    return found[0]!;
  };
  /** As it is, but for a program that is there. */
  const here = (): string => {
    const dir = freshDir();
    mkdirSync(dir);
    const file = join(dir, 'weir.service');
    writeFileSync(file, text.replace('ExecStart=/opt/weir/node_modules/.bin/weir', `ExecStart=${process.execPath}`));
    return file;
  };
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  const why = hasSystemd ? '' : ' (skipped: systemd-analyze is not installed)';

  test('sets variables that Weir reads, and folders that it may write', () => {
    const env = Object.fromEntries(all('Environment').map((each) => each.split('=') as [string, string]));
    expectKnown(env);
    const state = `/var/lib/${one('StateDirectory')}`;
    expect([env.DATA_DIR, env.SECRETS_DIR]).toEqual([`${state}/data`, `${state}/secrets`]);
    expect(one('WorkingDirectory')).toBe(state);
    expect(one('ExecStart')).toBe('/opt/weir/node_modules/.bin/weir serve');
  });

  test('waits for the answers in flight, and does not start again what cannot start', () => {
    expect(Number(one('TimeoutStopSec'))).toBeGreaterThanOrEqual(mostDrainSeconds + 10);
    expect(one('KillSignal')).toBe('SIGTERM');
    // src/cli/program.ts: a configuration that is not valid.
    expect(one('RestartPreventExitStatus')).toBe('78');
  });

  test.skipIf(!hasSystemd)(`is one that systemd takes without a word${why}`, () => {
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', here()], {
      encoding: 'utf8',
    });
    expect(`${stdout}${stderr}`).toBe('');
    expect(status).toBe(0);
  });

  test.skipIf(!hasSystemd)(`leaves little open by systemd's own count, at most 2.0 of 10${why}`, () => {
    const args = ['security', '--offline=yes', '--no-pager', '--threshold=20', here()];
    const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    expect(`${stdout}${stderr}`).toContain('Overall exposure level');
    expect(status, stdout).toBe(0);
  });
});

test('the package has the files of this folder, and the pages name this version', () => {
  expect(files).toContain('src/deploy');
  for (const page of ['README.md', 'weir.service'])
    for (const [, named] of textOf(page).matchAll(/weir-(\d+\.\d+\.\d+)\.tgz/g)) expect(named).toBe(version);
});

test.each(['nginx.conf', 'haproxy.cfg'])('the variables that %s names are ones that Weir reads', (name) => {
  const named = Object.fromEntries(
    Array.from(textOf(name).matchAll(/\b([A-Z]+_[A-Z_]+)=(\S+)/g), ([, variable, value]) => [variable!, value!]),
  );
  expect(Object.keys(named)).toEqual(['TRUSTED_PROXIES', 'PUBLIC_URL']);
  expectKnown(named);
});
