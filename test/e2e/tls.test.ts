import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { certificateAuthority, signedBy } from '../support/certificates.ts';
import { eventually, exitOf, freshDir, spawnWeir } from './process.ts';
import { isShared } from './remote-store.ts';
import { type FirstRun, type Server, startServer } from './server.ts';

const ca = certificateAuthority();
const dir = freshDir();
const files = {
  TLS_CERT_FILE: join(dir, 'tls.crt'),
  TLS_KEY_FILE: join(dir, 'tls.key'),
  NODE_EXTRA_CA_CERTS: join(dir, 'ca.crt'),
};
const put = (file: string, text: string): void => {
  writeFileSync(`${file}.next`, text, { mode: 0o600 });
  renameSync(`${file}.next`, file);
};
const certify = (): void => {
  const { cert, key } = signedBy(ca, ['weir.example', '127.0.0.1']);
  put(files.TLS_CERT_FILE, cert);
  put(files.TLS_KEY_FILE, key);
};

const validTo = (): string => new Date(new X509Certificate(readFileSync(files.TLS_CERT_FILE)).validTo).toISOString();

let server: Server;
beforeAll(async () => {
  mkdirSync(dir);
  writeFileSync(files.NODE_EXTRA_CA_CERTS, ca.cert);
  certify();
  if (isShared) return;
  server = await startServer({ env: { ...files, METRICS_PORT: '0' } });
});
afterAll(() => server?.stop());

/** When the metrics say that the certificate expires. */
const expiry = async (): Promise<string> => {
  const url = String(server.log().find(({ msg }) => msg === 'listening')!.metrics_url);
  const text = await (await fetch(url)).text();
  const [, seconds] = /^weir_certificate_expiry_timestamp_seconds (\S+)$/m.exec(text) ?? [];
  return new Date(Number(seconds) * 1000).toISOString();
};

const script = `
  import Anthropic from '@anthropic-ai/sdk';
  import OpenAI from 'openai';
  const [baseURL, apiKey, adminAPIKey] = process.argv.slice(1);
  const question = { model: 'weir-sim-1', max_tokens: 200, messages: [{ role: 'user', content: 'Hello' }] };
  let deltas = 0;
  const stream = new Anthropic({ baseURL, apiKey, maxRetries: 0 }).messages.stream(question).on('text', () => { deltas += 1; });
  const message = await stream.finalMessage();
  const openai = new OpenAI({ baseURL: baseURL + '/v1', apiKey: adminAPIKey, adminAPIKey, maxRetries: 0 });
  const projects = await openai.admin.organization.projects.list();
  console.log(JSON.stringify({ deltas: deltas > 3, stop: message.stop_reason, projects: projects.data.length }));
`;

const run = async (first: FirstRun): Promise<unknown> => {
  const args = ['--input-type=module', '-e', script, server.baseUrl, first.project_api_key, first.admin_api_key];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...files } });
  return JSON.parse(stdout);
};

test('the SDKs talk to it over https, before and after its certificate was renewed', async ({ skip }) => {
  skip(isShared, 'in a store that others have begun the first organization is made over HTTP');
  const { first } = server;
  expect(server.baseUrl).toMatch(/^https:\/\/127\.0\.0\.1:/);
  expect(first.base_url).toBe(server.baseUrl);
  const expected = { deltas: true, stop: 'end_turn', projects: expect.any(Number) };
  expect(await run(first)).toEqual(expected);
  expect(await expiry()).toBe(validTo());
  certify();
  const reloaded = await eventually(() => server.log().find(({ msg }) => msg === 'certificate.reloaded'));
  expect(reloaded.validTo).toBe(validTo());
  expect(await expiry()).toBe(validTo());
  expect(await run(first)).toEqual(expected);
  const metadata = 'fetch(process.argv[1]).then((r) => r.json()).then(({ issuer }) => console.log(issuer))';
  const args = ['-e', metadata, `${server.baseUrl}/.well-known/oauth-authorization-server`];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...files } });
  expect(stdout.trim()).toBe(server.baseUrl);
});

test('a certificate that cannot be used ends the start, and says which variable names it', async () => {
  const started = spawnWeir(['serve'], {
    PORT: '0',
    DATA_DIR: freshDir(),
    ...files,
    TLS_KEY_FILE: files.NODE_EXTRA_CA_CERTS,
  });
  expect(await exitOf(started)).toEqual({ code: 78, signal: null });
  expect(started.stderr()).toContain('TLS_KEY_FILE: ');
  expect(started.stderr()).not.toContain('BEGIN');
});
