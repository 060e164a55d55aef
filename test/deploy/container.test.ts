import { existsSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { eventually } from '../e2e/process.ts';
import { certificateAuthority, signedBy } from '../support/certificates.ts';
import { type Container, endAll, healthy, lacks, laidOut, type Root, start } from './container.ts';
import { containerfile } from './containerfile.ts';
import { buildImage, imageLacks, imageRoot, removeImage } from './image.ts';

/** The image as a container: its files over this machine's own libraries, and, at length, as buildah builds it. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 600_000 });

const image = containerfile();
const [uid = 0] = image.user.split(':').map(Number);

afterEach(endAll);
afterAll(removeImage);

const isNode = (pid: number): boolean => {
  try {
    return readlinkSync(`/proc/${pid}/exe`).endsWith('/node');
  } catch {
    // It has ended meanwhile.
    return false;
  }
};

const kinds: readonly (readonly [string, string | undefined, () => Root, () => void])[] = [
  ['the files of the image', lacks, laidOut, () => {}],
  ['the image that buildah builds', imageLacks, imageRoot, buildImage],
];

describe.each(kinds)('%s', (_, reason, newRoot, prepare) => {
  if (reason === undefined) beforeAll(prepare);
  const run = test.skipIf(reason !== undefined);
  const because = reason === undefined ? '' : ` (skipped: ${reason})`;

  const organizations = (container: Container): string => container.run([...image.entrypoint, 'org', 'list']).stdout;

  run(`is healthy by its own check, without any right, and writes into its volumes alone${because}`, async () => {
    const container = await start(newRoot());
    await healthy(container);
    const status = readFileSync(`/proc/${container.pid}/status`, 'utf8');
    expect(status).toMatch(new RegExp(`^Uid:\t${uid}\t${uid}\t${uid}\t${uid}$`, 'm'));
    for (const set of ['CapEff', 'CapPrm', 'CapBnd']) expect(status).toMatch(new RegExp(`^${set}:\t0+$`, 'm'));
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(container.run(['touch', '/opt/weir/anything']).stderr).toContain('Read-only file system');
    await eventually(() => container.log().includes('Admin key') || undefined, container.log);

    const made = container.run([...image.entrypoint, 'org', 'create', '--new-store', '--name', 'Acme', '--jsonl']);
    expect(made.stderr).toBe('');
    const { admin_api_key: key } = JSON.parse(made.stdout) as { admin_api_key: string };
    const ask = `fetch('http://127.0.0.1:8080/v1/organization', { headers: { authorization: 'Bearer ${key}' } }).then(async (r) => console.log(r.status, await r.text()))`;
    expect(container.run(['node', '-e', ask]).stdout).toMatch(/^200 .*"Acme"/);
    process.kill(container.pid, 'SIGTERM');
    expect(await container.exited).toBe(0);
  });

  run(`is healthy again on the same volumes after kill -9${because}`, async () => {
    const root = newRoot();
    const first = await start(root);
    await healthy(first);
    expect(first.run([...image.entrypoint, 'org', 'create', '--new-store', '--name', 'Acme']).status).toBe(0);
    process.kill(first.pid, 'SIGKILL');
    await first.exited;
    const again = await start(root);
    await healthy(again);
    expect(organizations(again)).toContain('Acme');
    // The keys are told once.
    expect(again.log()).not.toContain('Admin key');
    process.kill(again.pid, 'SIGTERM');
    expect(await again.exited).toBe(0);
  });

  run(`is asked for its health over TLS, and at another port, where it is told to listen so${because}`, async () => {
    const root = newRoot();
    const { cert, key } = signedBy(certificateAuthority(), ['gateway.example']);
    mkdirSync(join(root.at, 'tmp-tls'));
    writeFileSync(join(root.at, 'tmp-tls/tls.crt'), cert);
    writeFileSync(join(root.at, 'tmp-tls/tls.key'), key);
    const env = { PORT: '9443', TLS_CERT_FILE: '/tmp-tls/tls.crt', TLS_KEY_FILE: '/tmp-tls/tls.key' };
    const container = await start(root, { env });
    await healthy(container);
    await eventually(() => container.log().includes('https://') || undefined, container.log);
    const plain = container.run(['env', '-u', 'TLS_CERT_FILE', ...image.healthCheck]);
    expect([plain.status, plain.stderr]).toEqual([1, expect.stringContaining('127.0.0.1:9443 does not answer')]);
  });

  run(`ends by SIGTERM, as the first process that it is, also while it starts${because}`, async () => {
    for (const afterMs of [0, 150, 300]) {
      const root = newRoot();
      const container = await start(root);
      // Before that it is Node alone, to which as a first process the kernel passes nothing on.
      await eventually(() => existsSync(join(root.at, image.env.DATA_DIR!, 'eventstore')) || undefined, container.log);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      process.kill(container.pid, 'SIGTERM');
      expect(await container.exited, `after ${afterMs} ms: ${container.log()}`).not.toBeNull();
    }
  });

  run(`ends by SIGTERM at any moment of its start under an init${because}`, async () => {
    for (const afterMs of [0, 20, 60, 120]) {
      const container = await start(newRoot(), { init: true });
      await eventually(() => container.children().find(isNode), container.log);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      process.kill(container.pid, 'SIGTERM');
      expect(await container.exited, `after ${afterMs} ms: ${container.log()}`).not.toBeNull();
    }
  });
});
