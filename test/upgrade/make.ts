import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { filesBelow, writeFixture } from './fixture.ts';

/**
 * Makes the data of one version: `npx tsx test/upgrade/make.ts FOLDER`, where FOLDER is a checkout of that version, built.
 * It uses what every version has, and of newer things those that the answers of the version show; nothing that goes away with time.
 */
const checkout = resolve(process.argv[2] ?? '.');
const main = join(checkout, 'dist/src/main.js');
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string };
const dir = mkdtempSync(join(tmpdir(), 'weir-fixture-'));
const env = { PATH: process.env.PATH, PORT: '0', DATA_DIR: join(dir, 'data') };

const child = spawn(process.execPath, [main, 'serve'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
const exited = new Promise((ended) => child.once('exit', ended));
let log = '';
const baseUrl = await new Promise<string>((found, failed) => {
  child.stderr.on('data', (piece) => {
    log += piece;
    const url = /"base_url":"([^"]+)"/.exec(log)?.[1];
    if (url) found(url);
  });
  child.once('exit', () => failed(new Error(log)));
});
const first = JSON.parse(readFileSync(join(dir, 'data/first-run.json'), 'utf8')) as Record<string, string>;

type Json = Record<string, string>;
const ask = async (key: string, method: string, path: string, body?: unknown): Promise<Json> => {
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'idempotency-key': randomUUID(),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text.startsWith('{') ? (JSON.parse(text) as Json) : {};
};
const admin = (method: string, path: string, body?: unknown) =>
  ask(first.admin_api_key!, method, `/v1/organization${path}`, body);
const weir = (...args: string[]): Json =>
  JSON.parse(execFileSync(process.execPath, [main, ...args, '--jsonl'], { env, encoding: 'utf8' })) as Json;

const organizationId = first.organization_id!;
weir('billing', 'top-up', organizationId, '--amount', '20', '--reference', 'invoice-17');
weir('billing', 'grant', organizationId, '--amount', '2.5', '--reference', 'welcome');
weir('org', 'create', '--name', 'Another organization');
const client = weir('oauth-client', 'create', organizationId, '--name', 'provisioning');
const gone = weir('oauth-client', 'create', organizationId, '--name', 'gone');
weir('oauth-client', 'delete', gone.client_id!, '--yes');

const makeKey = (project: string, name: string) => admin('POST', `/projects/${project}/api_keys`, { name });
const research = await admin('POST', '/projects', { name: 'research, 研究' });
const [live, back, suspended, revoked] = await Promise.all(
  ['live', 'reactivated', 'suspended', 'revoked'].map((name) => makeKey(research.id!, name)),
);
const keyPath = (key: Json | undefined) => `/projects/${research.id}/api_keys/${key?.id}`;
for (const key of [back, suspended]) await admin('POST', `${keyPath(key)}/suspend`);
await admin('POST', `${keyPath(back)}/reactivate`);
await admin('POST', keyPath(live), { name: 'live, renamed' });
await admin('DELETE', keyPath(revoked));
const closed = await admin('POST', '/projects', { name: 'closed' });
const ofClosed = await makeKey(closed.id!, 'goes with its project');
await admin('POST', `/projects/${closed.id}/archive`);
const second = await admin('POST', '/admin_api_keys', { name: 'second' });
await admin('DELETE', `/admin_api_keys/${second.id}`);

const draft = (name: string, rule: string) => admin('POST', '/policies', { name, mode: 'enforcing', rule });
const inForce = await draft('No nightfall', 'request.text.contains("nightfall")');
await admin('POST', `/policies/${inForce.id}/publish`, { revision: 1 });
const paused = await draft('Short answers', 'request.max_tokens > 100');
await admin('POST', `/policies/${paused.id}/publish`, { revision: 1 });
await admin('POST', `/policies/${paused.id}/pause`, { revision: 2 });
const deleted = await draft('Deleted', 'true');
await admin('DELETE', `/policies/${deleted.id}?revision=1`);

for (const key of [first.project_api_key, live?.value, back?.value]) {
  for (const stream of [false, true]) {
    const messages = [{ role: 'user', content: 'Hello' }];
    await ask(key!, 'POST', '/v1/messages', { model: 'weir-sim-1', max_tokens: 50, stream, messages });
    await ask(key!, 'POST', '/v1/chat/completions', { model: 'weir-sim-1', stream, messages });
  }
}
if ('model_aliases' in research) {
  await admin('POST', `/projects/${research.id}`, {
    model_aliases: { 'house/sim': 'weir-sim-1', 'claude-*': 'weir-sim-1' },
  });
  const messages = [{ role: 'user', content: 'Hello' }];
  for (const model of ['house/sim', 'claude-x'])
    await ask(live?.value as string, 'POST', '/v1/messages', { model, max_tokens: 50, messages });
}
const stop = async (): Promise<void> => {
  child.kill('SIGTERM');
  if ((await exited) !== 0) throw new Error(`It did not end well: ${log}`);
};
const dayMs = 86_400_000;
const today = (Math.floor(Date.now() / dayMs) * dayMs) / 1000;
const paths = [
  '/projects?include_archived=true&limit=100',
  `/projects/${research.id}/api_keys?limit=100`,
  ...[live, back, suspended, revoked].map(keyPath),
  '/admin_api_keys?limit=100',
  '/policies?limit=100',
  `/policies/${inForce.id}/versions`,
  '/audit_logs?limit=100',
  `/usage?start_time=${today}&end_time=${today + 86_400}&bucket_width=1d`,
  `/costs?start_time=${today}&end_time=${today + 86_400}`,
];
// What requests have used is in the reports a little later.
let shown: Record<string, unknown> = {};
for (let last = ''; ; ) {
  await new Promise((next) => setTimeout(next, 3000));
  shown = {};
  for (const path of paths) shown[`/v1/organization${path}`] = await admin('GET', path);
  const text = JSON.stringify(shown);
  if (text === last) break;
  last = text;
}
const credits = await ask(live?.value as string, 'GET', '/v1/credits');
await stop();
const file = writeFixture({
  version,
  files: filesBelow(dir),
  organizationId,
  adminKey: first.admin_api_key!,
  oauthClient: { id: client.client_id!, secret: client.client_secret! },
  liveKeys: [live?.value, back?.value, first.project_api_key] as string[],
  deadKeys: [suspended?.value, revoked?.value, ofClosed.value] as string[],
  projectId: research.id!,
  shown,
  credits,
});
rmSync(dir, { recursive: true });
process.stdout.write(`${file}\n`);
