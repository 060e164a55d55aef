import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { unlessGone } from '../support/unless-gone.ts';
import { archive, call, createKey, paths, use } from './calls.ts';
import { weirHere } from './here.ts';
import { isRemote, isShared, noEmbedded } from './remote-store.ts';
import {
  eventually,
  exitOf,
  type Finished,
  freshDir,
  runWeir,
  type Server,
  spawnServer,
  startServer,
} from './server.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 180_000 });

/** Starts a server that cannot start. */
const refusedStart = (env: Record<string, string>): Promise<Finished> =>
  runWeir(['serve'], { PORT: '0', DATA_DIR: freshDir(), ...env });

/** The same in this process, for what is found out before anything is opened. */
const refusedHere = (env: Record<string, string>, ...args: string[]): Promise<Finished> =>
  weirHere(['serve', ...args], { PORT: '0', DATA_DIR: freshDir(), LOG_LEVEL: 'silent', ...env });

/** What standard error says besides the log: one sentence for a person, without a stack. */
const complaintOf = ({ stderr, code, signal }: Finished): string => {
  expect(`${code ?? signal}`).not.toBe('0');
  expect(signal).toBeNull();
  const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
  for (const line of lines) expect(line).not.toMatch(/^\s+at |node:internal|Unhandled|\[object/);
  return lines.join('\n');
};

const textFile = (name: string, text: string): string => {
  const file = `${freshDir()}.${name}`;
  writeFileSync(file, text);
  return file;
};

describe.concurrent('a server that cannot start says why in one sentence', () => {
  test('where its port is taken, and leaves the folder as it can be started again', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const address = taken.address();
    const port = String(typeof address === 'object' && address !== null ? address.port : 0);
    const dataDir = freshDir();
    const refused = await refusedHere({ PORT: port, DATA_DIR: dataDir });
    expect(complaintOf(refused)).toBe(`Cannot listen on HOST 127.0.0.1 PORT ${port}: another process has that port.`);
    expect(refused.code).toBe(1);
    await new Promise((resolve) => taken.close(resolve));
    const server = await startServer({ dataDir });
    expect(await use(server, server.first.project_api_key)).toBe('200');
    // The keys have not been told before, so they are now; but for a store that others have begun.
    if (!isShared) expect(server.spawned.stdout()).toContain(join(dataDir, 'first-run.json'));
    await server.stop();
  });

  test('where its folder cannot be one', async () => {
    const file = textFile('in-the-way', 'x');
    const inTheWay = await Promise.all([
      refusedHere({ DATA_DIR: file }),
      refusedHere({ DATA_DIR: join(file, 'below') }),
      refusedStart({ DATA_DIR: '/proc/weir' }),
    ]);
    for (const refused of inTheWay) {
      expect(complaintOf(refused)).toMatch(/^The event store cannot use \S+: [^\n]+\.$/);
      expect(refused.code).toBe(1);
    }
  });

  test('where the folder of its secrets cannot be one', async () => {
    const file = textFile('in-the-way', 'x');
    const starts = await Promise.all([
      refusedHere({ SECRETS_DIR: join(file, 'below') }),
      refusedStart({ SECRETS_DIR: '/proc/weir' }),
    ]);
    for (const refused of starts) {
      expect(complaintOf(refused)).toMatch(
        /^The configuration is not valid:\n {2}SECRETS_DIR: \S*(in-the-way|\/proc\/weir)\S* cannot be used: [a-z ]+$/,
      );
      expect(refused.code).toBe(78);
    }
  });

  test('where its configuration is wrong: every fault, and exit status 78', async () => {
    const faults = {
      PORT: '65536',
      LOG_LEVEL: 'loud',
      PROJECTION_WAIT_MS: 'soon',
      DRAIN_MS: '-1',
      EVENTSTORE_URL: 'http://localhost:2113',
    };
    const refused = await refusedHere(faults);
    expect(refused.code).toBe(78);
    const [first, ...rest] = complaintOf(refused).split('\n');
    expect(first).toBe('The configuration is not valid:');
    expect(rest.map((line) => /^ {2}([A-Z_]+): /.exec(line)?.[1]).sort()).toEqual(Object.keys(faults).sort());
  });

  test('where its secrets are damaged, and touches nothing', async () => {
    const secrets = {
      'is not JSON': '{"master_key":',
      'has a short key': JSON.stringify({ master_key: 'abc', current_pepper: 'p1', peppers: { p1: 'abc' } }),
    };
    const starts = Object.values(secrets).map(async (text) => {
      const dir = freshDir('secrets');
      mkdirSync(dir);
      writeFileSync(join(dir, 'secrets.json'), text);
      return { dir, refused: await refusedHere({ SECRETS_DIR: dir }, '--new-store') };
    });
    for (const { dir, refused } of await Promise.all(starts)) {
      expect(complaintOf(refused)).toMatch(/^\S+secrets\.json is damaged: [^\n]+$/);
      expect(complaintOf(refused)).toContain(dir);
      expect(refused.code).toBe(1);
    }
  });

  test('where the binary of its HTTP server cannot be loaded, and has written nothing', async () => {
    const hooks = `export const resolve = (name, context, next) => {
      if (name.startsWith('uWebSockets.js')) throw new Error('libc.so.6: version not found');
      return next(name, context);
    };`;
    const inData = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
    const register = `import { register } from 'node:module'; register(${JSON.stringify(inData(hooks))});`;
    const dataDir = freshDir();
    const refused = await refusedStart({ DATA_DIR: dataDir, NODE_OPTIONS: `--import ${inData(register)}` });
    expect(complaintOf(refused)).toMatch(/^The HTTP server cannot start: [^\n]+\.$/);
    expect(refused.code).toBe(1);
    expect([dataDir, `${dataDir}.secrets`].filter(existsSync)).toEqual([]);
  });

  test('where its models file is not one', async () => {
    const missing = join(dirname(freshDir()), 'no-models.json');
    const files = {
      missing,
      broken: textFile('models.json', '{"models": ['),
      wrong: textFile('models.json', '{"models":[{"id":"x","context_length":0}]}'),
    };
    const [gone, broken, wrong] = (await Promise.all(
      Object.values(files).map((MODELS_FILE) => refusedHere({ MODELS_FILE })),
    )) as [Finished, Finished, Finished];
    expect(complaintOf(gone)).toBe(
      `The configuration is not valid:\n  MODELS_FILE: ${missing} cannot be used: it is not there`,
    );
    expect(gone.code).toBe(78);
    expect(complaintOf(broken)).toMatch(/not valid JSON \(line 1, column \d+\)/);
    const faults = complaintOf(wrong);
    expect(faults).toMatch(/^The configuration is not valid:\n {2}MODELS_FILE: The models file has \d faults:/);
    expect(faults).toMatch(/models\[0\]\.context_length/);
    for (const { code } of [broken, wrong]) expect(code).toBe(78);
  });
});

test('a folder with a path of 150 bytes, a space and letters beyond ASCII is as good as any', async ({ skip }) => {
  skip(isRemote, noEmbedded);
  const base = freshDir('');
  const odd = 'a path mit Ärger ';
  const dataDir = join(base, odd + 'x'.repeat(150 - Buffer.byteLength(`${base}/${odd}`)));
  expect(Buffer.byteLength(dataDir)).toBe(150);
  const server = await startServer({ dataDir });
  const { id, value } = await createKey(server, server.first.project_id);
  expect(await use(server, value)).toBe('200');
  const history = () => runWeir(['audit', 'history', id, '--jsonl'], { DATA_DIR: dataDir });
  const running = await history();
  expect(`${running.code} ${running.stderr}`).toBe('0 ');
  expect(running.stdout).toMatch(/^\{"stream":"projectKey-key_[0-9a-z]+","revision":0,.*\}\n$/);

  // Nobody else can have it meanwhile, and waits for it in vain.
  const refused = await refusedHere({ DATA_DIR: dataDir });
  expect(complaintOf(refused)).toBe(
    `The event store in ${join(dataDir, 'eventstore')} is in use by process ${server.spawned.child.pid}.`,
  );
  expect(refused.code).toBe(1);
  expect(await use(server, value)).toBe('200');

  // What lies there is for its owner alone.
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
  expect(modeOf(join(dataDir, 'first-run.json'))).toBe('600');
  expect(modeOf(join(dataDir, 'eventstore'))).toBe('700');
  expect(modeOf(`${dataDir}.secrets`)).toBe('700');
  expect(modeOf(join(`${dataDir}.secrets`, 'secrets.json'))).toBe('600');

  await server.stop();
  const left = readdirSync(join(dataDir, 'eventstore')).filter((name) => name.startsWith('lock'));
  expect(left).toEqual([]);
  const stopped = await weirHere(['audit', 'history', id, '--jsonl'], { DATA_DIR: dataDir });
  expect(`${stopped.code} ${stopped.stderr}`).toBe('0 ');
  expect(stopped.stdout).toBe(running.stdout);
});

describe.concurrent('SIGTERM', () => {
  const models = (tokens: number, token_ms: number): string =>
    textFile(
      'models.json',
      JSON.stringify({
        models: [
          {
            id: 'paced',
            context_length: 100_000,
            max_output_length: 64_000,
            upstream: { kind: 'simulated', output_tokens: tokens, output_tokens_variation: 0, token_ms },
          },
        ],
      }),
    );

  /** A streamed message that has begun; `rest` resolves with everything that came. */
  const beginStream = async (server: Server): Promise<{ rest: Promise<string> }> => {
    const response = await fetch(`${server.baseUrl}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.first.project_api_key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'paced',
        max_tokens: 5000,
        stream: true,
        messages: [{ role: 'user', content: 'Hello' }],
      }),
    });
    expect(response.status).toBe(200);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const first = await reader.read();
    const read = async (): Promise<string> => {
      let text = first.value ?? '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return text;
        text += value;
      }
    };
    return { rest: read() };
  };

  test('lets a stream in flight come to its end, refuses what is new, and ends with 0', async () => {
    const server = await startServer({ env: { MODELS_FILE: models(50, 20) } });
    const [one, two] = await Promise.all([beginStream(server), beginStream(server)]);
    server.spawned.child.kill('SIGTERM');
    await eventually(() => server.log().find(({ msg }) => msg === 'server.draining'));
    const late = await call(server, 'GET', '/v1/organization/projects').catch(() => undefined);
    if (late) {
      expect(`${late.status} ${late.text}`).toMatch(/^503 .*server_shutting_down/);
      expect(late.headers.get('retry-after')).toBe('1');
      expect((await call(server, 'GET', '/v1/health', { key: null })).status).toBe(200);
      expect((await call(server, 'GET', '/v1/ready', { key: null })).status).toBe(503);
    }
    for (const text of await Promise.all([one.rest, two.rest]))
      expect(text.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')).toBe(true);
    const { code, signal } = await exitOf(server.spawned);
    expect(`${code} ${signal}`).toBe('0 null');
    expect(server.log().filter(({ level }) => level >= 50)).toEqual([]);
  });

  test('waits for what is in flight no longer than DRAIN_MS', async () => {
    const server = await startServer({ env: { MODELS_FILE: models(3000, 20), DRAIN_MS: '200' } });
    const stream = await beginStream(server);
    const cut = stream.rest.catch(() => 'cut');
    const began = performance.now();
    await server.stop();
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(await cut).not.toContain('message_stop');
  });

  test('ends at once when it comes a second time', async () => {
    const server = await startServer({ env: { MODELS_FILE: models(3000, 20) } });
    const stream = await beginStream(server);
    const cut = stream.rest.catch(() => 'cut');
    server.spawned.child.kill('SIGTERM');
    await eventually(() => server.log().find(({ msg }) => msg === 'server.draining'));
    const began = performance.now();
    server.spawned.child.kill('SIGTERM');
    const { code } = await exitOf(server.spawned);
    expect(performance.now() - began).toBeLessThan(5000);
    expect(code).toBe(1);
    expect(await cut).not.toContain('message_stop');
  });

  test('ends a server that is still starting, at any moment, and the next one starts', async () => {
    const dataDir = freshDir();
    for (const delay of [400, 900]) {
      const starting = await spawnServer(dataDir);
      await new Promise((resolve) => setTimeout(resolve, delay));
      starting.child.kill('SIGTERM');
      const { code, signal } = await exitOf(starting);
      // Before it has come to listen for signals, the signal itself ends it.
      expect(['0 null', 'null SIGTERM']).toContain(`${code} ${signal}`);
      expect(starting.stderr()).not.toMatch(/^\s+at |damaged/m);
    }
    const server = await startServer({ dataDir });
    expect(await use(server, server.first.project_api_key)).toBe('200');
    expect((await archive(server, server.first.project_id)).status).toBe(200);
    await server.stop();
  });
});

test('what a start that was killed at once has left does not keep the next one from starting', async () => {
  const dataDir = freshDir();
  const claim = { pid: 2 ** 22 + 1, started: '1', endpoint: null, won: true };
  mkdirSync(join(dataDir, 'eventstore'), { recursive: true });
  writeFileSync(join(dataDir, 'eventstore', `lock.${claim.pid}.0123456789abcdef`), JSON.stringify(claim));
  const { code, stderr } = await weirHere(['org', 'create', '--new-store', '--name', 'Acme'], { DATA_DIR: dataDir });
  expect(`${code} ${stderr}`).toBe('0 ');
});

test('the help lists every variable, and an unknown command is refused', async () => {
  const [help, unknown, none] = await Promise.all([
    weirHere(['--help'], {}),
    weirHere(['serv'], {}),
    weirHere(['serve', 'now'], {}),
  ]);
  expect(help.code).toBe(0);
  for (const name of [
    'HOST',
    'PORT',
    'DATA_DIR',
    'SECRETS_DIR',
    'EVENTSTORE_URL',
    'MODELS_FILE',
    'LOG_LEVEL',
    'DRAIN_MS',
  ])
    expect(help.stdout).toMatch(new RegExp(`^  ${name} +\\S`, 'm'));
  expect(unknown.code).not.toBe(0);
  expect(unknown.stderr).toMatch(/unknown command 'serv'/);
  expect(none.code).not.toBe(0);
  expect(none.stderr).toMatch(/too many arguments/);
});

// Kept out of the list above because the administrator of a machine may write anywhere.
test.skipIf(process.getuid?.() === 0)('a folder without permission is told as such', async () => {
  const dir = freshDir();
  mkdirSync(dir);
  chmodSync(dir, 0o500);
  const refused = await refusedStart({ DATA_DIR: join(dir, 'below') });
  expect(complaintOf(refused)).toMatch(/no permission to write there\.$/);
  chmodSync(dir, 0o700);
  rmSync(dir, { recursive: true });
});

test.runIf(process.platform === 'linux')('the helper threads of a server give way to those that serve', async () => {
  const server = await startServer({});
  const pid = server.spawned.child.pid!;
  const niceness = new Map(
    readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
      const stat = unlessGone(() => readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8'));
      if (stat === undefined) return [];
      // The name, in brackets, may have spaces; the nineteenth field is behind it.
      return [[Number(thread), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])] as const];
    }),
  );
  expect(niceness.get(pid)).toBe(0);
  const lowered = [...niceness.values()].filter((nice) => nice === 10);
  expect(lowered.length).toBeGreaterThanOrEqual(4);
  // The embedded store's thread is one that serves.
  expect(niceness.size - lowered.length).toBeGreaterThanOrEqual(isRemote ? 1 : 2);
  await server.stop();
});

test('what the first start made may end: the next starts do not make it again', async () => {
  const dataDir = freshDir();
  const operator = (...args: string[]) => weirHere([...args, '--jsonl'], { DATA_DIR: dataDir });
  let server = await startServer({ dataDir });
  const { first } = server;
  const deletion = (id: string, key?: string) =>
    call(server, 'DELETE', `/v1/organization/admin_api_keys/${id}`, key === undefined ? {} : { key });
  const made = await operator('admin-key', 'bootstrap', first.organization_id, '--yes');
  const second = JSON.parse(made.stdout) as { admin_api_key: string; admin_api_key_id: string };
  expect((await deletion(first.admin_api_key_id, second.admin_api_key)).status).toBe(200);
  expect((await call(server, 'POST', paths.archive(first.project_id), { key: second.admin_api_key })).status).toBe(200);
  await server.stop();

  server = await startServer({ dataDir });
  const { status, body } = await deletion(second.admin_api_key_id, second.admin_api_key);
  expect([status, (body.error as { code: string }).code]).toEqual([409, 'last_admin_key']);
  expect((await operator('org', 'suspend', first.organization_id, '--yes')).code).toBe(0);
  await server.stop();
  server = await startServer({ dataDir });
  expect((await operator('org', 'close', first.organization_id, '--yes')).code).toBe(0);
  await server.stop();
  server = await startServer({ dataDir });
  const { stdout } = await operator('audit', 'history', first.admin_api_key_id);
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).type),
  ).toEqual(['admin_key.created', 'admin_key.deleted']);
  await server.stop();
});
