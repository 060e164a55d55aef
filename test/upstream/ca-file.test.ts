import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import { UpstreamError } from '../../src/data/upstream/port.ts';
import { type Certified, certificateAuthority, signedBy } from '../support/certificates.ts';
import { apiKey, recorded, recordedAnswer, recordedMessage, upstreamAt } from './mock.ts';
import { assemble, options, request } from './requests.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), 'weir-ca-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const authority = certificateAuthority();
const another = certificateAuthority();
// OpenSSL looks for an issuer by its name alone.
const named = certificateAuthority('Another authority');
const caFile = file('ca.pem', `Our authority\n${authority.cert}`);

/** An upstream over TLS until the test ends. */
const upstreamWith = async (certificate: Certified, ca_file: string | undefined) => {
  let requests = 0;
  const server = createServer(certificate, (incoming, response) => {
    requests += 1;
    incoming.resume();
    const streams = incoming.headers.accept === 'text/event-stream';
    response.writeHead(200, { 'content-type': incoming.headers.accept });
    response.end(streams ? recorded.join('') : JSON.stringify(recordedMessage));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const upstream = upstreamAt(
    `https://models.example:${port}`,
    { ca_file },
    { resolve: (_, __, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]) },
  );
  onTestFinished(async () => {
    await upstream.close();
    await new Promise((resolve) => server.close(resolve));
  });
  return { upstream, requests: () => requests };
};

const failure = async (work: Promise<unknown>): Promise<UpstreamError> => {
  const error = await work.catch((caught: unknown) => caught);
  if (error instanceof UpstreamError) return error;
  throw new Error(`not an UpstreamError: ${String(error)}`);
};

describe('an upstream with a ca_file', () => {
  test('answers whole and streamed when that authority has signed its certificate', async () => {
    for (const ca_file of [caFile, file('both.pem', named.cert + authority.cert)]) {
      const { upstream } = await upstreamWith(signedBy(authority, ['models.example']), ca_file);
      expect(await upstream.answer(request(), options())).toEqual(recordedAnswer);
      expect(await assemble(upstream.stream(request(), options()))).toEqual(recordedAnswer);
    }
  });

  test.each<[string, Certified, string]>([
    ['another authority', signedBy(another, ['models.example']), 'signature'],
    ['another name', signedBy(authority, ['other.example']), 'models.example'],
    ['a time that is over', signedBy(authority, ['models.example'], { from: -2, to: -1 }), 'expired'],
  ])('is not asked where its certificate is of %s; the cause names the reason and the file', async (_, one, why) => {
    const { upstream, requests } = await upstreamWith(one, caFile);
    const error = await failure(upstream.answer(request(), options()));
    expect(error).toMatchObject({ code: 'provider_error', message: 'The model provider failed.' });
    expect(String(error.cause)).toContain(why);
    expect(String(error.cause)).toContain(caFile);
    expect(JSON.stringify([error.message, String(error.cause)])).not.toContain(apiKey);
    expect(requests()).toBe(0);
  });

  test('canary: without the file the same server is not trusted', async () => {
    const { upstream } = await upstreamWith(signedBy(authority, ['models.example']), undefined);
    expect(String((await failure(upstream.answer(request(), options()))).cause)).toContain('no ca_file is set');
  });
});

describe('a models file with a ca_file', () => {
  const faults = (over: object): string => {
    const upstream = { kind: 'anthropic', base_url: 'https://models.example', api_key_env: 'KEY', ...over };
    const models = [{ id: 'm', context_length: 9, max_output_length: 9, upstream }];
    try {
      loadModels(JSON.stringify({ models }), { KEY: apiKey });
    } catch (error) {
      return (error as Error).message.split('\n').slice(1).join('\n');
    }
    return '';
  };
  const broken = authority.cert.replace(/^M.{20}/m, (line) => 'A'.repeat(line.length));

  test.each<[string, object, string]>([
    ['is sound', { ca_file: caFile }, ''],
    ['names none that is there', { ca_file: '/nowhere/ca.pem' }, '/nowhere/ca.pem cannot be read (ENOENT)'],
    ['names a folder', { ca_file: folder }, `${folder} cannot be read (EISDIR)`],
    [
      'names an empty one',
      { ca_file: file('no.pem', '') },
      `${join(folder, 'no.pem')} holds no certificate in PEM form`,
    ],
    [
      'names a key',
      { ca_file: file('key.pem', authority.key) },
      `${join(folder, 'key.pem')} holds no certificate in PEM form`,
    ],
    [
      'names one with a broken certificate',
      { ca_file: file('broken.pem', authority.cert + broken) },
      `certificate 2 of ${join(folder, 'broken.pem')} cannot be read`,
    ],
    [
      'is not of TLS',
      { ca_file: caFile, base_url: 'http://models.example', private_network: true },
      'only an https upstream has a certificate',
    ],
  ])('that %s', (_, over, message) => {
    expect(faults(over)).toBe(message === '' ? '' : `  models[0].upstream.ca_file: ${message}`);
  });

  test('hands over its certificates alone, not a key that stands beside them', () => {
    const upstream = {
      kind: 'anthropic',
      base_url: 'https://models.example',
      api_key_env: 'KEY',
      ca_file: file('with-key.pem', authority.key + authority.cert),
    };
    const models = [{ id: 'm', context_length: 9, max_output_length: 9, upstream }];
    const [declared] = loadModels(JSON.stringify({ models }), { KEY: apiKey });
    expect(declared!.upstreams[0]!.upstream).toMatchObject({ ca: { pem: authority.cert.trim() } });
  });
});
