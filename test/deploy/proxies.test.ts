import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request as plainRequest, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { call } from '../e2e/calls.ts';
import { eventually, freshDir } from '../e2e/process.ts';
import { type Server, startServer } from '../e2e/server.ts';
import { certificateAuthority, signedBy } from '../support/certificates.ts';
import { type Mock, serve } from '../upstream/mock.ts';

/** The configurations of src/deploy/ as they are, but for ports, files and addresses. DEPLOY_LONG=1 is the long form. */
const isLong = process.env.DEPLOY_LONG === '1';
const streams = isLong ? 512 : 64;
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const dir = freshDir();
const ca = certificateAuthority();
const { cert, key } = signedBy(ca, ['gateway.example', '127.0.0.1']);

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

/** Replaces each piece, which has to be there: the file has changed under the test otherwise. */
const adapted = (file: string, pieces: Readonly<Record<string, string>>): string => {
  let text = readFileSync(new URL(`../../src/deploy/${file}`, import.meta.url), 'utf8');
  for (const [piece, other] of Object.entries(pieces)) {
    if (!text.includes(piece)) throw new Error(`${file} has no ${JSON.stringify(piece)}`);
    text = text.replaceAll(piece, other);
  }
  return text;
};

interface Proxy {
  /** Writes its configuration and says how it is started. */
  readonly command: (port: number, weir: string) => readonly [string, ...string[]];
}

const proxies: Readonly<Record<string, Proxy>> = {
  nginx: {
    command(port, weir) {
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `  ${name}_temp_path ${dir}/nginx-${name};\n`)
        .join('');
      const text = adapted('nginx.conf', {
        'worker_processes auto;': `worker_processes 2;\ndaemon off;\npid ${dir}/nginx.pid;\nerror_log ${dir}/nginx.log;`,
        'http {\n': `http {\n  access_log off;\n${paths}`,
        'server 127.0.0.1:8080': `server ${weir}`,
        'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
        '/etc/ssl/gateway.example': dir,
      });
      writeFileSync(join(dir, 'nginx.conf'), text);
      return ['nginx', '-c', join(dir, 'nginx.conf'), '-e', join(dir, 'nginx.log')];
    },
  },
  haproxy: {
    command(port, weir) {
      const text = adapted('haproxy.cfg', {
        'server weir 127.0.0.1:8080': `server weir ${weir}`,
        'bind :443': `bind 127.0.0.1:${port}`,
        '/etc/ssl/gateway.example': dir,
      });
      writeFileSync(join(dir, 'haproxy.cfg'), text);
      return ['haproxy', '-db', '-q', '-f', join(dir, 'haproxy.cfg')];
    },
  },
};

/** Answers of a model that are held after their first token until all may go on. */
const held: { response: ServerResponse; go(): void }[] = [];
let upstream: Mock;
let weir: Server;
beforeAll(async () => {
  mkdirSync(dir);
  writeFileSync(join(dir, 'tls.crt'), cert);
  writeFileSync(join(dir, 'tls.key'), key);
  writeFileSync(join(dir, 'tls.pem'), cert + key);
  upstream = await serve((_, response) => {
    const piece = (content: string, finish: string | null = null) =>
      response.write(
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`,
      );
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    piece('first ');
    const go = () => {
      piece('last', 'stop');
      response.end('data: [DONE]\n\n');
    };
    held.push({ response, go });
  });
  const models = join(dir, 'models.json');
  const openai = { kind: 'openai', base_url: upstream.url, private_network: true };
  writeFileSync(
    models,
    JSON.stringify({
      models: [{ id: 'held', context_length: 100_000, max_output_length: 1000, prefill: true, upstream: openai }],
    }),
  );
  weir = await startServer({
    env: { MODELS_FILE: models, TRUSTED_PROXIES: '127.0.0.1', PUBLIC_URL: 'https://gateway.example' },
  });
});
afterAll(async () => {
  await weir?.stop();
  await upstream?.close();
});

const installed = Object.entries(proxies).map(([name, proxy]) => {
  const isHere = spawnSync(name, ['-v']).status === 0;
  return { name, ...proxy, isHere, why: isHere ? '' : '(skipped: it is not installed)' };
});

describe.each(installed)('behind $name $why', ({ name, command, isHere }) => {
  let child: ChildProcess | undefined;
  let port = 0;
  const agent = new Agent({ keepAlive: true, ca: ca.cert, servername: 'gateway.example' });
  beforeAll(async () => {
    if (!isHere) return;
    port = await freePort();
    const [program, ...args] = command(port, `127.0.0.1:${weir.port}`);
    child = spawn(program, args, { stdio: 'ignore' });
    await eventually(() =>
      ask('GET', '/v1/ready').then(
        ({ status }) => (status === 200 ? true : undefined),
        () => undefined,
      ),
    );
  });
  afterAll(async () => {
    agent.destroy();
    if (child?.exitCode !== null) return;
    child.kill('SIGTERM');
    await new Promise((resolve) => child?.once('exit', resolve));
  });

  const ask = (
    method: string,
    path: string,
    options: { headers?: Record<string, string | string[]>; body?: unknown; saw?: (text: string) => void } = {},
  ) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', ...options.headers };
      const sent = request(
        // Of another address than the proxy's own, as clients are.
        { host: '127.0.0.1', localAddress: '127.0.0.2', port, method, path, agent, headers },
        (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (piece: string) => {
            text += piece;
            options.saw?.(text);
          });
          response.once('end', () => resolve({ status: response.statusCode!, text }));
          response.once('error', reject);
        },
      );
      sent.once('error', reject);
      sent.end(options.body === undefined ? undefined : JSON.stringify(options.body));
    });

  test.skipIf(!isHere)(`the first token of each of ${streams} streams is there before the last is sent`, async () => {
    held.length = 0;
    let first = 0;
    const answers = Array.from({ length: streams }, () => {
      let hasSeen = false;
      return ask('POST', '/v1/chat/completions', {
        headers: { authorization: `Bearer ${weir.first.project_api_key}` },
        body: { model: 'held', stream: true, messages: [{ role: 'user', content: 'Hello' }] },
        saw(text) {
          if (!hasSeen && text.includes('first')) first += 1;
          hasSeen ||= text.includes('first');
          if (first < streams) expect(text).not.toContain('last');
        },
      });
    });
    await eventually(
      () => (first === streams ? true : undefined),
      () => `${first} of ${streams} have begun`,
      60_000,
    );
    expect(held).toHaveLength(streams);
    for (const { go } of held) go();
    for (const { status, text } of await Promise.all(answers)) {
      expect(status).toBe(200);
      expect(text).toMatch(/first.*last.*\[DONE\]\n\n$/s);
    }
  });

  test.skipIf(!isHere)('a client that leaves takes its request back from the model', async () => {
    held.length = 0;
    const sent = request({
      ...{ host: '127.0.0.1', port, method: 'POST', path: '/v1/chat/completions', agent: false, ca: ca.cert },
      headers: { 'content-type': 'application/json', authorization: `Bearer ${weir.first.project_api_key}` },
    });
    sent.on('error', () => {});
    sent.end(JSON.stringify({ model: 'held', stream: true, messages: [{ role: 'user', content: 'Hello' }] }));
    await eventually(() => held[0]);
    sent.destroy();
    await eventually(() => (held[0]!.response.destroyed ? true : undefined));
  });

  test.skipIf(!isHere)('the address of the client is known, and not the one that it claims', async () => {
    const headers = {
      authorization: `Bearer ${weir.first.admin_api_key}`,
      'x-forwarded-for': ['203.0.113.7', '203.0.113.8, 127.0.0.1'],
      forwarded: 'for=203.0.113.9;proto=https',
      'x-real-ip': '203.0.113.10',
      'idempotency-key': `${name}-address`,
    };
    const made = await ask('POST', '/v1/organization/projects', { headers, body: { name: `behind ${name}` } });
    expect(made.status).toBe(201);
    const { id } = JSON.parse(made.text) as { id: string };
    const { body } = await call(weir, 'GET', `/v1/organization/audit_logs?resource_ids[]=${id}`);
    const [entry] = body.data as { actor: unknown }[];
    expect(JSON.stringify(entry)).toContain('"127.0.0.2"');
    expect(JSON.stringify(entry)).not.toContain('203.0.113');
  });

  test.skipIf(!isHere)('the address that clients use is the one of PUBLIC_URL', async () => {
    const { text } = await ask('GET', '/.well-known/oauth-authorization-server');
    expect(JSON.parse(text)).toMatchObject({ issuer: 'https://gateway.example' });
  });

  test.skipIf(!isHere)('a body of 20 MiB comes through, and headers of 12 KiB', async () => {
    const headers = { authorization: `Bearer ${weir.first.project_api_key}`, 'x-filler': 'x'.repeat(12_000) };
    const body = { model: 'none', messages: [{ role: 'user', content: 'x'.repeat(20 * 1024 * 1024) }] };
    const { status, text } = await ask('POST', '/v1/chat/completions', { headers, body });
    expect([status, text]).toEqual([404, expect.stringContaining('model_not_found')]);
  });

  test.skipIf(!isHere)('what comes after a pause meets no connection that is closed', async () => {
    for (const pauseMs of [0, 11_000]) {
      await new Promise((resolve) => setTimeout(resolve, isLong ? pauseMs : 0));
      const answers = Array.from({ length: 32 }, () => ask('GET', '/v1/health'));
      for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
    }
  });
});

test('the first start shows how to ask for a model that is there, whatever it listens on', async () => {
  const shown = await eventually(() => weir.spawned.stdout() || undefined);
  expect(shown).toContain('"model":"held"');
  expect(shown).not.toContain('weir-sim-1');
});

test('who is no proxy is known by its own address, whatever it claims', async () => {
  const headers = {
    authorization: `Bearer ${weir.first.admin_api_key}`,
    'content-type': 'application/json',
    'idempotency-key': 'asked-directly-of-weir',
    'x-forwarded-for': '203.0.113.7',
  };
  const { id } = await new Promise<{ id: string }>((resolve, reject) => {
    const options = { host: '127.0.0.1', localAddress: '127.0.0.3', port: weir.port, method: 'POST', headers };
    const sent = plainRequest({ ...options, path: '/v1/organization/projects' }, (response) => {
      let text = '';
      response.on('data', (piece) => {
        text += piece;
      });
      response.once('end', () => resolve(JSON.parse(text)));
    });
    sent.once('error', reject);
    sent.end(JSON.stringify({ name: 'asked directly' }));
  });
  const { body } = await call(weir, 'GET', `/v1/organization/audit_logs?resource_ids[]=${id}`);
  expect(JSON.stringify(body.data)).toContain('"127.0.0.3"');
  expect(JSON.stringify(body.data)).not.toContain('203.0.113');
});

test('the header of the PROXY protocol, which anybody may write, tells no address', async () => {
  const head = Buffer.from('0d0a0d0a000d0a515549540a2111000ccb007107cb00710800010002', 'hex');
  const body = JSON.stringify({ name: 'by PROXY' });
  const sent = [
    'POST /v1/organization/projects HTTP/1.1',
    'Host: gateway.example',
    'Connection: close',
    `Authorization: Bearer ${weir.first.admin_api_key}`,
    'Content-Type: application/json',
    'Idempotency-Key: by-proxy-protocol',
    `Content-Length: ${body.length}`,
    `\r\n${body}`,
  ].join('\r\n');
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', localAddress: '127.0.0.4', port: weir.port });
    let text = '';
    socket.on('data', (piece) => {
      text += piece;
    });
    socket.once('close', () => resolve(text));
    socket.once('error', reject);
    socket.write(Buffer.concat([head, Buffer.from(sent)]));
  });
  const [, id] = /"id":"(proj_\w+)"/.exec(answer) ?? [];
  if (id === undefined) return expect(answer).toMatch(/^HTTP\/1\.1 4/);
  const { body: log } = await call(weir, 'GET', `/v1/organization/audit_logs?resource_ids[]=${id}`);
  expect(JSON.stringify(log.data)).toContain('"127.0.0.4"');
  expect(JSON.stringify(log.data)).not.toContain('203.0.113');
});
