import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { notesIn, parsedCheckpoint } from '../../src/merkle/checkpoint.ts';
import { call, createKey, createProject, paths } from './calls.ts';
import { weirHere } from './here.ts';
import { eventually, freshDir, runWeir, type Server, startServer } from './server.ts';

// Each command is a process of its own, on a machine that may be busy with other things.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const folder = (): string => {
  const dir = freshDir();
  mkdirSync(dir, { recursive: true });
  return dir;
};

let server: Server;
let sink: string;
let project: string;

/** Leaves that the newest checkpoint in the sink covers. */
const sunk = (): number => {
  const notes = existsSync(sink) ? notesIn(readFileSync(sink, 'utf8')) : [];
  return parsedCheckpoint(notes.at(-1) ?? '')?.size ?? 0;
};

const audit = (env: Readonly<Record<string, string>>, ...args: string[]) => weirHere(['audit', ...args], env);
interface Verified {
  readonly code: number | null;
  readonly stderr: string;
  readonly findings?: readonly unknown[];
  readonly outside?: number | null;
  readonly imported?: number | null;
  readonly uncovered?: number;
}
const verified = async (env: Readonly<Record<string, string>>, ...args: string[]): Promise<Verified> => {
  const { code, stdout, stderr } = await audit(env, 'verify', '--json', ...args);
  return { code, stderr, ...(JSON.parse(stdout || '{}') as object) };
};

beforeAll(async () => {
  sink = join(folder(), 'checkpoints');
  server = await startServer({ env: { AUDIT_SINKS: sink } });
  project = await createProject(server, 'audited');
  const { id } = await createKey(server, project, { name: 'a key' });
  for (const action of ['suspend', 'reactivate']) {
    expect((await call(server, 'POST', `${paths.projectKeys(project)}/${id}/${action}`)).status).toBe(200);
  }
});

describe('the audit log of a running gateway', () => {
  test('is signed within a second of the last event, into the sink', async () => {
    const before = sunk();
    const began = performance.now();
    await createProject(server, 'one more');
    await eventually(async () => (sunk() > before ? true : undefined));
    // The bar is one second; the machine may be busy.
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test('is verified beside it, by a process of its own, against what the sink has', async () => {
    const env = { DATA_DIR: server.dataDir, AUDIT_SINKS: sink };
    const { code, stdout } = await runWeir(['audit', 'verify'], env);
    expect(stdout).toContain('proven from outside');
    expect(code).toBe(0);
    const { code: json, findings, outside } = await verified(env);
    expect([json, findings]).toEqual([0, []]);
    expect(outside).toBeGreaterThan(9);
  });

  test('without a checkpoint from outside leaves open whether something was taken back', async () => {
    const report = await verified({ DATA_DIR: server.dataDir });
    expect(report).toMatchObject({ code: 2, verdict: 'open', findings: [] });
    expect(report.stderr).toContain('--against');
  });

  test('with another key is not believed', async () => {
    const { stdout } = await audit({ DATA_DIR: server.dataDir }, 'key');
    const own = stdout.trim();
    expect(await verified({ DATA_DIR: server.dataDir }, '--against', sink, '--pub', own)).toMatchObject({ code: 0 });
    const other = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
    expect(await verified({ DATA_DIR: server.dataDir }, '--against', sink, '--pub', other)).toMatchObject({ code: 1 });
    expect((await audit({ DATA_DIR: server.dataDir }, 'verify', '--pub', 'nonsense')).code).toBe(2);
  });

  test('goes on under another key, for which the one before vouches', async () => {
    const env = { DATA_DIR: server.dataDir };
    const { stdout, code } = await audit(env, 'rotate-key', '--yes', '--reason', 'yearly');
    expect(code).toBe(0);
    const [first, second] = (await audit(env, 'key')).stdout.trim().split('\n');
    expect(stdout.trim()).toBe(second);
    await createProject(server, 'under the next key');
    await eventually(async () => {
      const { uncovered } = await verified(env);
      return uncovered === 0 ? true : undefined;
    });
    expect(await verified(env, '--against', sink, '--pub', first!)).toMatchObject({ code: 0, findings: [] });
  });
});

describe('a copy', () => {
  const copied = async (edit: (text: string) => string) => {
    const file = join(folder(), 'events.ndjson');
    expect((await runWeir(['store', 'export', '--out', file], { DATA_DIR: server.dataDir })).code).toBe(0);
    writeFileSync(file, edit(readFileSync(file, 'utf8')));
    const dataDir = join(freshDir(), 'data');
    const dir = join(dataDir, 'eventstore');
    const { code, stderr } = await runWeir(['store', 'import', '--in', file, '--dir', dir], { DATA_DIR: dataDir });
    expect(`${code} ${stderr}`).toBe('0 ');
    return { DATA_DIR: dataDir, SECRETS_DIR: `${server.dataDir}.secrets` };
  };

  test('says for ever that it is one, and is believed with the checkpoints of the log that it came from alone', async () => {
    const env = await copied((text) => text);
    const alone = await verified(env);
    expect(alone).toMatchObject({ code: 2, findings: [] });
    expect(alone.imported).toBeGreaterThan(9);
    expect(alone.stderr).toContain('imported');
    expect(await verified(env, '--against', sink)).toMatchObject({ code: 0, findings: [] });
  });

  test('that was edited with sed is found out, where and what', async () => {
    const env = await copied((text) => text.replaceAll('"audited"', '"innocent"'));
    const found = await verified(env, '--against', sink);
    // The name is also in the answer that is kept for the request that made the project.
    expect(found).toMatchObject({
      code: 1,
      findings: [
        { class: 'altered', stream: `project-${project}`, revision: 0 },
        { class: 'altered', stream: expect.stringMatching(/^idempotency-/), revision: 1 },
      ],
    });
    const { code, stdout } = await audit({ ...env, AUDIT_SINKS: sink }, 'verify');
    expect(code).toBe(1);
    expect(stdout).toContain('altered');
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  test('that lacks an event is found out', async () => {
    const env = await copied((text) => {
      const lines = text.trimEnd().split('\n');
      const at = lines.findIndex((line) => line.includes('project_key.reactivated'));
      const last = JSON.parse(lines.at(-1)!) as { events: number };
      const end = JSON.stringify({ ...last, events: last.events - 1 });
      return `${[...lines.toSpliced(at, 1).slice(0, -1), end].join('\n')}\n`;
    });
    expect(await verified(env, '--against', sink)).toMatchObject({ code: 1, findings: [{ class: 'missing' }] });
  });
});
