// Lane: rest: logs that are forged by processes
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { existingEventLog } from '../../src/app/log/event-log.ts';
import { keyStream } from '../../src/audit/log/leaf.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { leafHash } from '../../src/kernel/store/event-hash.ts';
import { logEvent } from '../../src/kernel/store/log-event.ts';
import { checkpointText, notesIn, parsedCheckpoint } from '../../src/merkle/checkpoint.ts';
import { isSignedWith, signed, signerOf, verifierOf } from '../../src/merkle/note.ts';
import { isConsistent, isIncluded } from '../../src/merkle/tree.ts';
import { asked, hasPython, judged } from '../audit/verifier/second-verifier.ts';
import { call, createKey, createProject, paths } from './calls.ts';
import { weirHere } from './here.ts';
import { atItsStore, atRest, eventsOf, isShared, notOurs } from './remote-store.ts';
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

/** Leaves that the newest checkpoint in a sink covers. */
const sunk = (file = sink): number => {
  const notes = existsSync(file) ? notesIn(readFileSync(file, 'utf8')).notes : [];
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
  readonly covered?: number;
}
const verified = async (env: Readonly<Record<string, string>>, ...args: string[]): Promise<Verified> => {
  const { code, stdout, stderr } = await audit(env, 'verify', '--jsonl', ...args);
  return { code, stderr, ...(JSON.parse(stdout || '{}') as object) };
};

/** A project with a key that was suspended and reactivated. */
const createAudited = async (gateway: Server): Promise<string> => {
  const audited = await createProject(gateway, 'audited');
  const { id } = await createKey(gateway, audited, { name: 'a key' });
  for (const action of ['suspend', 'reactivate']) {
    expect((await call(gateway, 'POST', `${paths.projectKeys(audited)}/${id}/${action}`)).status).toBe(200);
  }
  return audited;
};

beforeAll(async () => {
  sink = join(folder(), 'checkpoints');
  server = await startServer({ env: { AUDIT_SINKS: sink } });
  project = await createAudited(server);
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
    expect(stdout).toMatch(/^PROVEN FROM OUTSIDE +the first \d+ leaves$/m);
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
    const keys = join(folder(), 'weir.keys');
    for (const [text, expected] of [
      [stdout, 0],
      [`${other}\n`, 1],
    ] as const) {
      writeFileSync(keys, text);
      const found = await verified({ DATA_DIR: server.dataDir }, '--against', sink, '--pub', keys);
      expect(found).toMatchObject({ code: expected });
    }
    expect((await audit({ DATA_DIR: server.dataDir }, 'verify', '--pub', 'nonsense')).code).toBe(64);
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

interface Told {
  readonly size: number;
  readonly checkpoint: string;
  readonly public_keys: readonly string[];
}

const everyEntry = async (): Promise<readonly { readonly id: string }[]> => {
  const { body } = await call(server, 'GET', '/v1/organization/audit_logs?limit=100');
  expect(body.has_more).toBe(false);
  return body.data as { id: string }[];
};

const bytes = (text: string): Buffer => Buffer.from(text, 'base64');

describe('over HTTP', () => {
  const signedOver = async (least: number): Promise<Told> =>
    eventually(async () => {
      const { status, body } = await call(server, 'GET', '/v1/organization/audit_logs/checkpoint');
      const told = body as unknown as Told;
      return status === 200 && told.size >= least ? told : undefined;
    });

  test('every entry of the log has a proof, which a stranger can check', async () => {
    const { size, public_keys } = await signedOver(10);
    const { body } = await call(server, 'GET', '/v1/organization/audit_logs?limit=100');
    const entries = (body as unknown as { data: { id: string; type: string }[] }).data;
    expect(entries.length).toBeGreaterThan(5);
    for (const { id } of entries.slice(-6)) {
      const answer = await call(server, 'GET', `/v1/organization/audit_logs/${id}/proof`);
      expect(answer.status).toBe(200);
      const proof = answer.body as unknown as {
        index: number;
        leaf: string;
        hashes: string[];
        checkpoint: Told;
        tlog_proof: string;
      };
      const { size: covered, root, note } = parsedCheckpoint(proof.checkpoint.checkpoint)!;
      expect(covered).toBeGreaterThanOrEqual(size);
      expect(isIncluded(bytes(leafHash(proof.leaf)), proof.index, covered, proof.hashes.map(bytes), root)).toBe(true);
      expect(isIncluded(bytes(leafHash(`${proof.leaf} `)), proof.index, covered, proof.hashes.map(bytes), root)).toBe(
        false,
      );
      expect(isSignedWith(note, verifierOf(proof.checkpoint.public_keys.at(-1)!)!)).toBe(true);
      expect(proof.tlog_proof).toContain(`index ${proof.index}\n`);
    }
    const { stdout } = await audit({ DATA_DIR: server.dataDir }, 'key');
    expect(stdout.trim().split('\n')).toEqual(public_keys);
    expect((await call(server, 'GET', '/v1/organization/audit_logs/audit_none/proof')).status).toBe(404);
  });

  test('the export has every entry, each with a proof, and an end', async () => {
    await createProject(server, 'before the export');
    const entries = await everyEntry();
    const kept = await keptCheckpoints();
    // The log goes on by itself: that a credential was used is recorded later.
    const text = await eventually(async () => {
      const response = await fetch(`${server.baseUrl}/v1/organization/audit_logs/export`, {
        headers: { authorization: `Bearer ${server.first.admin_api_key}` },
      });
      expect(response.headers.get('content-type')).toBe('application/x-ndjson');
      const told = await response.text();
      return told.includes('"uncovered":0') ? told : undefined;
    });
    const file = join(folder(), 'http.ndjson');
    writeFileSync(file, text);
    await expectWhole(file, kept, [ofOneOrganization]);
    checkExport(
      text,
      entries.map(({ id }) => id),
    );
  });

  test('the command writes the same, and one of the whole log', async () => {
    const [one, whole] = ['one', 'whole'].map((name) => join(folder(), `${name}.ndjson`)) as [string, string];
    const env = { DATA_DIR: server.dataDir };
    const { organization_id } = server.first;
    const kept = await keptCheckpoints();
    const exported = (file: string, ...of: string[]): Promise<string> =>
      eventually(async () => {
        rmSync(file, { force: true });
        expect((await audit(env, 'export', '--out', file, ...of)).code).toBe(0);
        const told = readFileSync(file, 'utf8');
        return told.includes('"uncovered":0') ? told : undefined;
      });
    const entries = await everyEntry();
    expect(checkExport(await exported(one, '--organization', organization_id))).toBe(entries.length);
    const text = await exported(whole);
    const { size } = parsedCheckpoint(JSON.parse(text.slice(0, text.indexOf('\n'))).checkpoint)!;
    expect(checkExport(text)).toBe(size);
    await expectWhole(one, kept, [ofOneOrganization]);
    await expectWhole(whole, kept);
    expect((await audit(env, 'export', '--out', whole)).code).toBe(1);
  });

  test('an event is proven on the command line, and so is what became of a checkpoint', async () => {
    const env = { DATA_DIR: server.dataDir };
    const place = `project-${project}@0`;
    const { code, stdout } = await audit(env, 'prove', place);
    expect(code).toBe(0);
    const leaf = (await audit(env, 'prove', place, '--leaf')).stdout;
    const [, index, hashes, note] = /^c2sp.org\/tlog-proof@v1\nindex (\d+)\n((?:.{44}\n)*)\n([\s\S]*)$/.exec(stdout)!;
    const { size, root } = parsedCheckpoint(note!)!;
    const path = hashes!.trim().split('\n').map(bytes);
    expect(isIncluded(bytes(leafHash(leaf)), Number(index), size, path, root)).toBe(true);
    expect((await audit(env, 'prove', 'project-proj_none@0')).code).toBe(1);
    expect((await audit(env, 'prove', 'nonsense')).code).toBe(64);

    const notes = notesIn(readFileSync(sink, 'utf8')).notes;
    const [older, newer] = [join(folder(), 'older'), join(folder(), 'newer')];
    writeFileSync(older, notes[0]!);
    writeFileSync(newer, notes.at(-1)!);
    const proven = await audit(env, 'consistency', older, newer);
    const [from, to] = [parsedCheckpoint(notes[0]!)!, parsedCheckpoint(notes.at(-1)!)!];
    expect(isConsistent(from, to, proven.stdout.trim().split('\n').map(bytes))).toBe(true);
    expect((await audit(env, 'consistency', newer, older)).code).toBe(1);
    // What nobody has signed is nobody's word, though it says the same.
    const { size: seen, root: same, origin } = to;
    const stranger = signerOf(origin, Buffer.alloc(32, 7));
    writeFileSync(newer, signed(checkpointText({ origin, size: seen, root: same }), stranger));
    const unsigned = await audit(env, 'consistency', older, newer);
    expect([unsigned.code, unsigned.stderr]).toEqual([
      1,
      expect.stringContaining('is not signed by a key of this log'),
    ]);
  });
});

describe('what is outside', () => {
  test('may hold what a write that broke off has left', async () => {
    const kept = await keptCheckpoints();
    const [first, ...others] = notesIn(readFileSync(kept, 'utf8')).notes;
    const torn = join(folder(), 'torn');
    writeFileSync(
      torn,
      `${first}${first?.slice(0, 150)}\n${first?.slice(0, 60)}\n${others.join('')}${first?.slice(0, -9)}`,
    );
    const env = { DATA_DIR: server.dataDir };
    const file = join(folder(), 'whole.ndjson');
    expect((await audit(env, 'export', '--out', file)).code).toBe(0);
    const report = await verified(env, '--against', torn);
    expect(report).toMatchObject({ code: 0, findings: [] });
    expect(report.stderr).toMatch(/torn holds 1\d lines that belong to no checkpoint/);
    await expectWhole(file, torn, [], expect.any(Array));
  });

  test.skipIf(!hasPython)(
    'is held against an export up to the checkpoint of the export, while the log goes on',
    async () => {
      const file = join(folder(), 'export.ndjson');
      const env = { DATA_DIR: server.dataDir };
      await keptCheckpoints();
      await eventually(async () => {
        rmSync(file, { force: true });
        expect((await audit(env, 'export', '--out', file)).code).toBe(0);
        return readFileSync(file, 'utf8').includes('"uncovered":0') || undefined;
      });
      await createProject(server, 'after the export');
      const later = await keptCheckpoints();
      const pub = (await audit(env, 'key')).stdout
        .trim()
        .split('\n')
        .flatMap((key) => ['--pub', key]);
      const program = join(folder(), 'verify_export.py');
      writeFileSync(program, (await audit({}, 'verifier')).stdout);
      const { status, stdout } = asked(program, file, '--against', later, ...pub);
      expect([status, stdout]).toEqual([0, expect.stringMatching(/the log has gone on to \d+ leaves.*\nWhole\.\n$/)]);
    },
  );

  test('is missed where a sink has nothing of it', async () => {
    const empty = join(folder(), 'checkpoints');
    const env = { DATA_DIR: server.dataDir };
    const none = { code: 2, findings: [], stderr: expect.stringContaining(`${empty} is in AUDIT_SINKS`) };
    expect(await verified({ ...env, AUDIT_SINKS: empty })).toMatchObject(none);
    writeFileSync(empty, '');
    expect(await verified({ ...env, AUDIT_SINKS: empty })).toMatchObject(none);
    expect(await verified({ ...env, AUDIT_SINKS: `${empty},${sink}` })).toMatchObject({ ...none, code: 0 });
    writeFileSync(empty, 'nonsense\n');
    expect(await verified({ ...env, AUDIT_SINKS: empty })).toMatchObject({ code: 3, verdict: 'unreadable' });
    const { code, stderr } = await verified(env, '--against', join(folder(), 'none'));
    expect([code, stderr]).toEqual([3, expect.stringMatching(/There is no file .*none\.\n$/)]);
  });

  test.skipIf(!existsSync('/dev/full'))('is no verdict where the report cannot be written', async () => {
    const full = openSync('/dev/full', 'w');
    const env = { ...process.env, ...(await atItsStore({ DATA_DIR: server.dataDir })) };
    for (const args of [[], ['--json']]) {
      const weir = spawn(process.execPath, ['dist/src/main.js', 'audit', 'verify', ...args], {
        env,
        stdio: ['ignore', full, 'ignore'],
      });
      const [code] = await once(weir, 'exit');
      expect(code).toBe(3);
    }
    closeSync(full);
  });

  test('is asked for what can be proven alone', async () => {
    const env = { DATA_DIR: server.dataDir };
    const checkpoint = await audit(env, 'prove', 'auditLog-checkpoints@0');
    expect([checkpoint.code, checkpoint.stderr]).toEqual([1, expect.stringContaining('no leaf of the tree')]);
    const of = await audit(env, 'export', '--organization', project, '--out', join(folder(), 'none'));
    expect([of.code, of.stderr]).toEqual([64, `${project} is not the id of an organization: org_….\n`]);
  });
});

/** When all is signed: the checkpoints so far, as somebody outside keeps them. */
const keptCheckpoints = async (): Promise<string> => {
  const kept = join(folder(), 'kept');
  await eventually(async () => {
    const { uncovered, covered } = await verified({ DATA_DIR: server.dataDir });
    return uncovered === 0 && sunk() === covered ? true : undefined;
  });
  copyFileSync(sink, kept);
  return kept;
};

const ofOneOrganization = expect.stringContaining('cannot show that no event was left out');
/** Asks the second verifier, with the keys and the checkpoints that an auditor has. */
const expectWhole = async (file: string, kept: string, lacking: readonly unknown[] = [], remarks: unknown = []) => {
  if (!hasPython) return;
  const pubs = (await audit({ DATA_DIR: server.dataDir }, 'key')).stdout.trim().split('\n');
  expect(judged([{ export: file, pubs, against: [kept] }])).toEqual([
    { status: lacking.length === 0 ? 0 : 2, findings: [], lacking, remarks },
  ]);
};

/** Checks an export as its format says; how many events it has. */
const checkExport = (text: string, ids?: readonly string[]): number => {
  expect(text.endsWith('\n')).toBe(true);
  const lines = text.slice(0, -1).split('\n');
  const [manifest, ...rest] = lines.map((line) => JSON.parse(line));
  const end = rest.pop();
  const { size, root, note } = parsedCheckpoint(manifest.checkpoint)!;
  expect(isSignedWith(note, verifierOf(manifest.public_keys.at(-1))!)).toBe(true);
  for (const { index, event, stub, proof } of rest) {
    if (event !== undefined && stub !== undefined) expect(JSON.parse(stub).hash).toBe(leafHash(event));
    expect(isIncluded(bytes(leafHash(stub ?? event)), index, size, proof.map(bytes), root)).toBe(true);
  }
  const sha256 = createHash('sha256')
    .update(`${lines.slice(0, -1).join('\n')}\n`)
    .digest('hex');
  expect(end).toEqual({ type: 'end', events: rest.length, removed: 0, uncovered: 0, sha256 });
  if (ids) expect(new Set(rest.map((line) => line.audit_log_id))).toEqual(new Set(ids));
  return rest.length;
};

describe('a copy', () => {
  let dataDir: string;
  let copiedProject: string;
  const checkpoints = join(folder(), 'checkpoints');

  // Of a gateway that has ended with all of its events signed: a running one may write behind its last checkpoint at any time.
  beforeAll(async () => {
    const env = { AUDIT_SINKS: checkpoints };
    let gateway = await startServer({ env });
    dataDir = gateway.dataDir;
    copiedProject = await createAudited(gateway);
    await eventually(async () => {
      await gateway.stop();
      const { uncovered, covered } = await verified({ DATA_DIR: dataDir });
      if (uncovered === 0 && sunk(checkpoints) === covered) return true;
      gateway = await startServer({ dataDir, env });
      return undefined;
    });
  });

  const copied = async (edit: (text: string) => string) => {
    const file = join(folder(), 'events.ndjson');
    expect((await runWeir(['store', 'export', '--out', file], { DATA_DIR: dataDir })).code).toBe(0);
    writeFileSync(file, edit(readFileSync(file, 'utf8')));
    const copy = join(freshDir(), 'data');
    const dir = join(copy, 'eventstore');
    const { code, stderr } = await runWeir(['store', 'import', '--in', file, '--dir', dir], { DATA_DIR: copy });
    expect(`${code} ${stderr}`).toBe('0 ');
    return { DATA_DIR: copy, SECRETS_DIR: `${dataDir}.secrets` };
  };

  test('says for ever that it is one, and is believed with the checkpoints of the log that it came from alone', async () => {
    const env = await copied((text) => text);
    const alone = await verified(env);
    expect(alone).toMatchObject({ code: 2, findings: [] });
    expect(alone.imported).toBeGreaterThan(9);
    expect(alone.stderr).toContain('imported');
    expect(await verified(env, '--against', checkpoints)).toMatchObject({ code: 0, findings: [] });
  });

  test('that was edited with sed is found out, where and what', async () => {
    const env = await copied((text) => text.replaceAll('"audited"', '"innocent"'));
    const found = await verified(env, '--against', checkpoints);
    // The name is also in the answer that is kept for the request that made the project.
    expect(found).toMatchObject({
      code: 1,
      findings: [
        { class: 'altered', stream: `project-${copiedProject}`, revision: 0 },
        { class: 'altered', stream: expect.stringMatching(/^idempotency-/), revision: 1 },
      ],
    });
    const { code, stdout } = await audit({ ...env, AUDIT_SINKS: checkpoints }, 'verify');
    expect(code).toBe(1);
    expect(stdout).toContain('altered');
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(120);
  });

  test('that lacks an event is found out', async () => {
    const env = await copied((text) => {
      const lines = text.trimEnd().split('\n');
      const at = lines.findIndex((line) => line.includes('project_key.reactivated'));
      const last = JSON.parse(lines.at(-1)!) as { events: number };
      const end = JSON.stringify({ ...last, events: last.events - 1 });
      return `${[...lines.toSpliced(at, 1).slice(0, -1), end].join('\n')}\n`;
    });
    expect(await verified(env, '--against', checkpoints)).toMatchObject({ code: 1, findings: [{ class: 'missing' }] });
  });
});

test('a gateway brings what was signed before it to the sinks that it has', async () => {
  const first = await startServer({});
  const { dataDir } = first;
  await createProject(first, 'signed before there was a sink');
  await eventually(async () => ((await verified({ DATA_DIR: dataDir })).uncovered === 0 ? true : undefined));
  await first.stop();
  const { stdout } = await audit({ DATA_DIR: dataDir }, 'checkpoint');
  const kept = join(folder(), 'checkpoints');
  const second = await startServer({ dataDir, env: { AUDIT_SINKS: kept } });
  await eventually(async () => (existsSync(kept) && readFileSync(kept, 'utf8') !== '' ? true : undefined));
  expect(notesIn(readFileSync(kept, 'utf8')).notes[0]).toBe(stdout);
  await second.stop();
});

describe('an older backup that is put in the place of the log', () => {
  test('is missed by what a sink has seen, also once the log has gone on from it', async ({ skip }) => {
    skip(isShared, notOurs);
    const kept = join(folder(), 'checkpoints');
    const backup = join(folder(), 'backup');
    const env = { AUDIT_SINKS: kept };
    let gateway = await startServer({ env });
    const { dataDir } = gateway;
    const signedIn = (name: string): Promise<unknown> =>
      eventually(
        async () => {
          const { uncovered } = await verified({ DATA_DIR: dataDir });
          return uncovered === 0 || undefined;
        },
        () => name,
      );
    await createProject(gateway, 'in the backup');
    await signedIn('in the backup');
    const backUp = ['store', 'backup', '--dir', await eventsOf(dataDir), '--out', backup];
    expect((await runWeir(backUp, { DATA_DIR: dataDir })).code).toBe(0);
    for (const name of ['lost 1', 'lost 2', 'lost 3']) await createProject(gateway, name);
    await signedIn('lost 3');
    expect(await verified({ DATA_DIR: dataDir, AUDIT_SINKS: kept })).toMatchObject({ code: 0, findings: [] });
    await gateway.stop();
    const seen = notesIn(readFileSync(kept, 'utf8')).notes;
    const evidence = readFileSync(kept, 'utf8');

    // As `weir store --help` says it is done.
    await atRest(dataDir, (dir) => {
      rmSync(dir, { recursive: true });
      renameSync(backup, dir);
    });
    const last = parsedCheckpoint(seen.at(-1)!)!.size;
    const shorter = await verified({ DATA_DIR: dataDir, AUDIT_SINKS: kept });
    const asRestored = expect.stringContaining('as where an older backup is restored');
    expect(shorter).toMatchObject({ code: 1, findings: [{ class: 'rolled-back', to: last, says: asRestored }] });

    // Named once more, the file stays the evidence that it is: while the log is shorter, and once it has gone on.
    const refusals = () => gateway.log().filter(({ msg }) => msg === 'audit.sink_lost');
    gateway = await startServer({ dataDir, env });
    const shorterIs = expect.stringMatching(`is of ${last} leaves, and this log has fewer, .* new file in AUDIT_SINKS`);
    await eventually(async () => refusals().length > 0 || undefined);
    expect(refusals()[0]).toMatchObject({ sink: kept, err: { message: shorterIs } });
    for (let n = 0; n < 6; n++) await createProject(gateway, `in the place of what was lost ${n}`);
    await signedIn('the last');
    await eventually(async () => refusals().length > 1 || undefined);
    expect(refusals().at(-1)).toMatchObject({ err: { message: expect.stringContaining('this log has others') } });
    await gateway.stop();
    expect(readFileSync(kept, 'utf8')).toBe(evidence);
    const gone = await verified({ DATA_DIR: dataDir, AUDIT_SINKS: kept });
    expect(gone.covered).toBeGreaterThan(last);
    expect(gone).toMatchObject({ code: 1, findings: [{ class: 'forked', says: asRestored }] });
    // The log itself does not tell.
    expect(await verified({ DATA_DIR: dataDir })).toMatchObject({ code: 2, findings: [] });

    // As src/app/README.md says one goes on.
    const anew = join(folder(), 'checkpoints of after');
    gateway = await startServer({ dataDir, env: { AUDIT_SINKS: anew } });
    await eventually(async () => {
      const { code } = await verified({ DATA_DIR: dataDir, AUDIT_SINKS: anew });
      return code === 0 || undefined;
    });
    await gateway.stop();
    // A sink that is refused is tried again after half a minute.
  }, 400_000);
});

/** What whoever can append to the store can do, without any secret. */
const planted = async (env: Readonly<Record<string, string>>): Promise<string> => {
  const { store, close } = await existingEventLog(readConfig(await atItsStore(env)));
  const { verifier } = signerOf('weir/x', Buffer.alloc(32, 7));
  const key = { number: 2, public_key: verifier.text, note: null };
  await store.append(keyStream, [logEvent('forged', keyStream, 'audit.key_rotated', key, systemClock)], 0);
  await close();
  return verifier.text;
};

test('a key that somebody has planted is not kept, not believed and not followed by another, and is named', async () => {
  const own = join(folder(), 'checkpoints');
  let gateway = await startServer({ env: { AUDIT_SINKS: own } });
  const env = { DATA_DIR: gateway.dataDir };
  await gateway.stop();
  const [key] = (await audit(env, 'key')).stdout.trim().split('\n');
  await planted(env);
  const named = 'Nobody vouches for the key of revision 1 of auditLog-keys: it is passed over.\n';
  expect(await audit(env, 'key')).toMatchObject({ code: 0, stdout: `${key}\n`, stderr: named });
  gateway = await startServer({ dataDir: gateway.dataDir, env: { AUDIT_SINKS: own } });
  await createProject(gateway, 'signed on');
  const report = await eventually(async () => {
    const found = await verified(env, '--against', own, '--pub', key!);
    return found.uncovered === 0 ? found : undefined;
  });
  expect(report).toMatchObject({ code: 0, findings: [], stderr: named });
  expect((await audit(env, 'key')).stdout).toBe(`${key}\n`);
  const ready = (await call(gateway, 'GET', '/v1/ready?verbose', { key: null })).body;
  expect(ready.audit_log).toEqual({ signed: true, passed_over: [{ stream: keyStream, revision: 1 }] });
  expect(gateway.log()).toContainEqual(
    expect.objectContaining({ msg: 'audit.key_passed_over', stream: keyStream, revision: 1 }),
  );
  await gateway.stop();
  const { store, close } = await existingEventLog(readConfig(await atItsStore(env)));
  let keys = 0;
  for await (const _ of store.read(keyStream)) keys += 1;
  await close();
  expect(keys).toBe(2);
});

test('where the master key is lost, an operator begins the part that nobody vouches for, and no start does', async () => {
  const own = join(folder(), 'checkpoints');
  let gateway = await startServer({ env: { AUDIT_SINKS: own } });
  const env = { DATA_DIR: gateway.dataDir };
  const secrets = `${gateway.dataDir}.secrets`;
  await createProject(gateway, 'of before');
  await gateway.stop();
  const key = (await audit(env, 'key')).stdout.trim();
  const before = join(folder(), 'before');
  copyFileSync(own, before);
  rmSync(secrets, { recursive: true });
  const asked = await weirHere(['secrets', 'create'], env);
  expect(asked.stderr).toContain('unproven from there on');
  const made = await weirHere(['secrets', 'create', '--yes'], env);
  expect(made.code).toBe(0);
  const next = made.stdout.trim().split('\n').at(-1)!;
  gateway = await startServer({ dataDir: gateway.dataDir, env: { AUDIT_SINKS: own } });
  expect((await call(gateway, 'GET', '/v1/ready?verbose', { key: null })).body.audit_log).toMatchObject({
    signed: true,
  });
  const unproven = await eventually(async () => {
    const found = await verified(env, '--against', before, '--pub', key);
    return found.uncovered === 0 ? found : undefined;
  });
  expect(unproven).toMatchObject({ code: 2, findings: [] });
  expect(unproven.stderr).toMatch(/^Nobody vouches .* revision 1 .*\nUnproven from entry [1-9]\d* on: /);
  for (const told of [
    ['--against', before, '--pub', key, '--pub', next],
    ['--against', own, '--pub', key],
  ])
    expect(await verified(env, ...told)).toMatchObject({ code: 0, findings: [] });
  // The secrets at hand have made none of the keys of before.
  expect((await audit(env, 'key')).stdout).toBe(`${next}\n`);
  await gateway.stop();
});

test('what the store was told to hide is found, and a key of whatever number keeps nobody from it', async () => {
  const gateway = await startServer({});
  const env = { DATA_DIR: gateway.dataDir };
  const { project_api_key_id: hidden } = gateway.first;
  await gateway.stop();
  expect((await audit(env, 'history', hidden)).code).toBe(0);
  const { store, close } = await existingEventLog(readConfig(await atItsStore(env)));
  await store.remove(`projectKey-${hidden}`);
  const { verifier } = signerOf('weir/x', Buffer.alloc(32, 7));
  const key = { number: Number.MAX_SAFE_INTEGER, public_key: verifier.text, note: null };
  await store.append(keyStream, [logEvent('forged', keyStream, 'audit.key_rotated', key, systemClock)], 0);
  await close();
  expect((await audit(env, 'history', hidden)).stderr).toBe(`There is no ${hidden} in this store.\n`);
  expect(await verified(env)).toMatchObject({
    code: 1,
    findings: [{ class: 'hidden', stream: `projectKey-${hidden}` }],
    uncovered: 1,
  });
  const { stdout, code } = await audit(env, 'verify');
  expect([code, stdout]).toEqual([1, expect.stringContaining(`projectKey-${hidden}`)]);
  expect(stdout).not.toContain('undefined');
  // Of another log.
  const other = await audit({ DATA_DIR: server.dataDir }, 'checkpoint');
  const file = join(folder(), 'of another log');
  writeFileSync(file, other.stdout);
  expect((await audit({ DATA_DIR: server.dataDir }, 'verify', '--agianst', file)).code).toBe(64);
});
