// Lane: rest: an event store of several nodes, or of others
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Embedded, startEmbedded } from '../../src/embedded/index.ts';
import { connect } from '../../src/eventstoredb/connect.ts';
import { StoreUnavailable } from '../../src/kernel/store/store.ts';
import { event } from '../support/events.ts';
import { type RemoteStore, startRemoteStore } from '../support/tls-store.ts';
import { weirHere } from './here.ts';
import { freshDir } from './process.ts';
import { runWeir } from './server.ts';

// Several starts, on a machine that may be busy with other things.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let store: RemoteStore;
let misnamed: RemoteStore;
let plain: Embedded;
let plainPort: number;
beforeAll(async () => {
  store = await startRemoteStore();
  misnamed = await startRemoteStore({ hosts: ['node-7.invalid'] });
  plain = await startEmbedded({ dir: freshDir('plain'), port: 0, inThread: true });
  plainPort = Number(new URL(`http://${plain.endpoint}`).port);
});
afterAll(() => plain?.close());

/** A port on which nobody listens. */
const closedPort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
};

/** The ways to have the client discover the store on a port of this machine. */
const discovering: readonly (readonly [string, (port: number, query: string) => string])[] = [
  ['two hosts', (port, query) => `esdb://svc:pw@localhost:${port},127.0.0.1:${port}?${query}`],
  ['a name for all', (port, query) => `esdb+discover://svc:pw@localhost:${port}?${query}`],
];

const faults: readonly (readonly [string, () => readonly [number, string], RegExp])[] = [
  ['a certificate whose authority is not trusted', () => [store.port, 'tls=true'], /not trusted: .* tlsCAFile/],
  [
    'a certificate for another name',
    () => [misnamed.port, `tlsCAFile=${misnamed.caFile}`],
    /certificate .* is for another host name/,
  ],
  ['plain text to a TLS port', () => [store.port, 'tls=false'], /perhaps it wants TLS/],
  ['TLS to a port of plain text', () => [plainPort, 'tls=true'], /does not speak TLS there/],
];

describe.concurrent.each(discovering)('a store to be discovered by %s', (_, urlOf) => {
  test.each(faults)('%s ends the start at once, with the reason in one sentence', async (_, fault, sentence) => {
    const url = urlOf(...fault());
    const { code, stdout, stderr } = await weirHere(['serve'], {
      PORT: '0',
      DATA_DIR: freshDir(),
      LOG_LEVEL: 'silent',
      EVENTSTORE_URL: url,
    });
    expect(stderr).toMatch(sentence);
    expect(stderr).toMatch(/^[A-Z][^\n]*\.\n$/);
    expect([code, stdout]).toEqual([1, '']);

    // With a minute to wait for the store, what comes does not come of the time being up; many attempts of discovery do not hide it.
    const patient = connect({ url: `${url}&maxDiscoverAttempts=60` }, { firstAnswerMs: 60_000 });
    const refused = await patient.append('a-1', [event(1)], 'no_stream').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StoreUnavailable);
    expect((refused as Error).message).toMatch(sentence);
    await patient.close();
  });

  test('one that is not there yet is waited for, and each attempt says what is wrong', async () => {
    const port = await closedPort();
    const { code, stderr } = await runWeir(['serve'], {
      PORT: '0',
      DATA_DIR: freshDir(),
      EVENTSTORE_URL: urlOf(port, 'tls=false'),
    });
    const lines = stderr.trimEnd().split('\n');
    expect(lines.pop()).toMatch(/^The event store did not answer within \d+\.\d s: .*ECONNREFUSED 127\.0\.0\.1:\d+\.$/);
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) expect(JSON.parse(line).reason).toMatch(/ECONNREFUSED 127\.0\.0\.1:\d+$/);
    expect(code).toBe(1);
  });
});

test.concurrent('a node whose certificate is wrong is told, rather than another that is not there', async () => {
  const url = `esdb://svc:pw@127.0.0.1:${await closedPort()},localhost:${store.port}?tls=true`;
  const patient = connect({ url }, { firstAnswerMs: 60_000 });
  await expect(patient.append('a-1', [event(1)], 'no_stream')).rejects.toThrow(/not trusted: .* tlsCAFile/);
  await patient.close();
});

describe.concurrent('standard error', () => {
  const list = (url: string, env: Record<string, string> = {}) =>
    runWeir(['org', 'list', '--json'], { DATA_DIR: freshDir(), EVENTSTORE_URL: url, ...env });

  test('has no warning of Node where nodes are named by address, and others as ever', async () => {
    const url = store.url.replace('esdb://', 'esdb+discover://').replace('@localhost:', '@127.0.0.1:');
    expect((await list(url)).stderr).toBe('The event store of EVENTSTORE_URL holds nothing of Weir yet.\n');
    const warning = "process.emitWarning('old', 'DeprecationWarning', 'DEP9999')";
    const file = `${freshDir('warns')}.mjs`;
    writeFileSync(file, `setTimeout(() => ${warning}, 1)`);
    const { stderr } = await list(url, { NODE_OPTIONS: `--import ${file}` });
    expect(stderr.match(/^\(node:.*$/gm)).toEqual([expect.stringContaining('[DEP9999] DeprecationWarning: old')]);
  });

  test('has one line for each option of the connection string that means nothing, and no password', async () => {
    const dead = `esdb://svc:s3cret@localhost:${store.port}?tls=true&tlsVerifyCert=false&colour=red`;
    const { stderr } = await runWeir(['serve'], { PORT: '0', DATA_DIR: freshDir(), EVENTSTORE_URL: dead });
    const lines = stderr.trimEnd().split('\n');
    expect(lines.pop()).toMatch(/not trusted: .* tlsCAFile/);
    const told = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'store.option_ignored');
    expect(told.map(({ option, reason }) => `${option}: ${reason}`)).toEqual([
      'tlsVerifyCert: certificates are always verified: name their authority with tlsCAFile',
      'colour: there is no such option',
    ]);
    expect(stderr).not.toContain('s3cret');
  });
});
