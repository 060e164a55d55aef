// Lane: middle: it waits for times to pass
import { X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { readCertificate } from '../../src/http/listen/certificate.ts';
import { route } from '../../src/http/route.ts';
import { onSignal } from '../../src/telemetry.ts';
import { type Certified, certificateAuthority, signedBy } from '../support/certificates.ts';
import { eventually } from './raw-client.ts';
import { credential, type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const ca = certificateAuthority();
const certified = (name: string): Certified => signedBy(ca, [name, '127.0.0.1']);
const first = certified('first.example');

let dir: string;
let service: Service;
let told: string[];
let silence: () => void;
let release: () => void;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'weir-tls-'));
  told = [];
  silence = onSignal((name, signal) => {
    if (name === 'certificate.reloaded') told.push('reloaded');
    if (name === 'certificate.expired') told.push('expired');
    if (name === 'certificate.refused') told.push((signal as { fault: string }).fault.replaceAll(dir, ''));
  });
});
afterEach(async () => {
  release?.();
  silence();
  await service?.stop();
  rmSync(dir, { recursive: true });
});

const cutOff = 'does not end where a certificate in PEM ends.';

const files = () => ({ certFile: join(dir, 'live/tls.crt'), keyFile: join(dir, 'live/tls.key') });

/** Puts the two files into the folder. */
const put = (folder: string, { cert, key }: Certified): string => {
  const path = join(dir, folder);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'tls.crt'), cert);
  writeFileSync(join(path, 'tls.key'), key, { mode: 0o600 });
  return path;
};

/** Turns the link `live` to another folder in one step, as Kubernetes does with a secret. */
const turn = (folder: string): void => {
  symlinkSync(folder, join(dir, 'live.next'));
  renameSync(join(dir, 'live.next'), join(dir, 'live'));
};

/** Puts each file in the place of the last one, as certbot does: first the certificate, in its own time the key. */
const renew = async ({ cert, key }: Certified, betweenMs = 0): Promise<void> => {
  for (const [file, text] of [
    [files().certFile, cert],
    [files().keyFile, key],
  ] as const) {
    writeFileSync(`${file}.next`, text, { mode: 0o600 });
    renameSync(`${file}.next`, file);
    await new Promise((resolve) => setTimeout(resolve, betweenMs));
  }
};

const start = async (): Promise<void> => {
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const certificate = await readCertificate(files());
  service = await startService({ certificate, certificateLookMs: 10 }, () => [
    route({
      method: 'POST',
      path: '/v1/held',
      operation: 'held',
      summary: 'Streams, and waits',
      tag: 'Inference',
      family: 'messages',
      access: { credential: 'project', permission: 'x' },
      body: z.object({}),
      replies: { 200: { description: 'A stream.' } },
      handle: () => ({
        status: 200,
        stream: async (sink) => {
          sink.write(Buffer.from('begin '));
          await held;
          // More than any buffer on the way holds: it is written as it is read.
          for (let i = 0; i < 512; i++) if (!sink.write(Buffer.alloc(16_384, 'x'))) await sink.drained();
          sink.write(Buffer.from(' end'));
        },
      }),
    }),
  ]);
};

interface Got {
  readonly text: string;
  /** Whom the certificate of the connection names. */
  readonly by: string;
}

const ask = (path: string, { agent, body, begun }: { agent?: Agent; body?: string; begun?: () => void } = {}) =>
  new Promise<Got>((resolve, reject) => {
    const [name, value] = credential.split(': ') as [string, string];
    const headers = { [name]: value, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const method = body === undefined ? 'GET' : 'POST';
    const host = '127.0.0.1';
    const sent = request({ host, port: service.port, path, method, headers, ca: ca.cert, agent: agent ?? false });
    sent.once('error', reject);
    sent.once('response', (response) => {
      const by = (response.socket as TLSSocket).getPeerCertificate().subject.CN as unknown as string;
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
        begun?.();
      });
      response.once('end', () => resolve({ text, by }));
      response.once('error', reject);
    });
    sent.end(body);
  });

const served = async (agent?: Agent): Promise<string> => (await ask('/v1/models', { agent: agent as Agent })).by;

describe('a certificate that changes', () => {
  test.each<[string, (next: Certified) => Promise<void>]>([
    ['renamed into place, one file after the other', (next) => renew(next, 50)],
    ['in a folder that a link is turned to', async (next) => turn(put(`folder-${told.length}`, next))],
  ])('%s: new connections get it, open ones and their streams go on', async (_, change) => {
    turn(put('first', first));
    await start();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await served(agent)).toBe('first.example');
    let begun = (): void => {};
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const streamed = ask('/v1/held', { body: '{}', begun });
    await hasBegun;

    await change(certified('second.example'));
    await eventually(() => served()).toBe('second.example');
    await eventually(() => told.at(-1)).toBe('reloaded');
    await change(certified('third.example'));
    await eventually(() => served()).toBe('third.example');
    expect(await served(agent)).toBe('first.example');
    release();
    const { text, by } = await streamed;
    expect([by, text.length, text.slice(0, 6), text.slice(-4)]).toEqual(['first.example', 8_388_618, 'begin ', ' end']);
    expect(told.filter((what) => what === 'reloaded')).toHaveLength(2);
    agent.destroy();
  });

  test('that cannot be used is told once, and the one before is served on', async () => {
    turn(put('first', first));
    await start();
    const second = certified('second.example');
    for (const [broken, why] of [
      [{ cert: second.cert, key: first.key }, '/live/tls.key is not the key of /live/tls.crt.'],
      [{ cert: '', key: second.key }, '/live/tls.crt holds no certificate in PEM.'],
      [{ cert: second.cert, key: 'secret words' }, '/live/tls.key is no private key in PEM without a password.'],
      [{ cert: second.cert + ca.cert.slice(0, 300), key: second.key }, `/live/tls.crt ${cutOff}`],
      [{ cert: second.cert.slice(0, 300), key: second.key }, `/live/tls.crt ${cutOff}`],
      [
        { cert: first.cert, key: second.key.slice(0, 60) },
        '/live/tls.key is no private key in PEM without a password.',
      ],
    ] as const) {
      told.length = 0;
      // In one step: what is between two steps may be told as well.
      turn(put(`broken-${why.length}`, broken));
      await eventually(() => told).toEqual([why]);
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(told).toEqual([why]);
      expect(await served()).toBe('first.example');
    }
    told.length = 0;
    rmSync(files().keyFile);
    await eventually(() => told).toEqual(['/live/tls.key cannot be read (ENOENT).']);
    expect(await served()).toBe('first.example');
    await renew(second);
    await eventually(() => served()).toBe('second.example');
    expect(told).toEqual(['/live/tls.key cannot be read (ENOENT).', 'reloaded']);
  });

  test('that has expired, or whose time has not come, is told once and comes into force when its time comes', async () => {
    turn(put('first', first));
    await start();
    const [late, early] = [
      { from: -2, to: -1 },
      { from: 2.5 / 3600, to: 24 },
    ].map((times) => signedBy(ca, ['second.example', '127.0.0.1'], times));
    turn(put('late', late!));
    await eventually(() => told).toEqual([expect.stringMatching(/^\/live\/tls\.crt expired at .*Z\.$/)]);
    expect(await served()).toBe('first.example');
    told.length = 0;
    turn(put('early', early!));
    await eventually(() => told.at(-1)).toBe('reloaded');
    // The client asks for the time in whole seconds, of a clock that is some milliseconds behind.
    await eventually(() => served()).toBe('second.example');
    // Unless the machine was so slow that its time had come at the first look.
    expect(told.filter((what) => what !== 'reloaded').every((what) => what.includes('is not valid before'))).toBe(true);
    expect(told.length).toBeLessThan(3);
  });

  test('that is served and expires is served on, and told once', async () => {
    turn(put('first', signedBy(ca, ['first.example', '127.0.0.1'], { from: -2, to: -1 })));
    await start();
    await eventually(() => told).toEqual(['expired']);
    turn(put('second', certified('second.example')));
    await eventually(() => told).toEqual(['expired', 'reloaded']);
    expect(await served()).toBe('second.example');
  });

  test('that is taken away and put back, or cannot be read for a while, is served throughout', async () => {
    turn(put('first', first));
    await start();
    for (const hide of [
      () => rmSync(join(dir, 'live')),
      () => turn('nowhere'),
      () => turn('live'),
      () => turn(put('half', { cert: first.cert, key: '' })),
      () => {
        rmSync(files().certFile);
        mkdirSync(files().certFile);
      },
    ]) {
      told.length = 0;
      hide();
      await eventually(() => told.length).toBe(1);
      expect(told[0]).toMatch(/^\/live\/tls\.(crt|key) (cannot be read \(E[A-Z]+\)|is no private key in PEM.*)\.$/);
      expect(await served()).toBe('first.example');
      rmSync(join(dir, 'first'), { recursive: true });
      turn(put('first', first));
      await eventually(() => told.at(-1)).toBe('reloaded');
      expect(told).toHaveLength(2);
    }
  });

  test('that is written in place, piece by piece, never shows half of itself', async () => {
    turn(put('first', first));
    await start();
    let served: string | undefined = 'first.example';
    for (let round = 0; round < 4; round++) {
      const next = certified(`number-${round}.example`);
      const seen = new Set<string>();
      for (const [file, text] of [
        [files().certFile, next.cert + ca.cert],
        [files().keyFile, next.key],
      ] as const) {
        for (let at = 0; at <= text.length; at += 100) {
          writeFileSync(file, text.slice(0, at));
          seen.add(await ask('/v1/models').then(({ by }) => by));
        }
        writeFileSync(file, text);
      }
      expect([...seen].filter((name) => name !== served)).toEqual([]);
      served = `number-${round}.example`;
      await eventually(async () => (await ask('/v1/models')).by).toBe(served);
    }
  });

  test('loses no connection that comes meanwhile', async () => {
    turn(put('first', first));
    await start();
    let isOver = false;
    const callers = Array.from({ length: 4 }, async () => {
      const seen = new Set<string>();
      while (!isOver) seen.add(await served());
      return seen;
    });
    for (let i = 0; i < 8; i++) {
      turn(put(`folder-${i}`, certified(`number-${i}.example`)));
      await eventually(() => told.length).toBe(i + 1);
    }
    await eventually(() => served()).toBe('number-7.example');
    isOver = true;
    for (const seen of await Promise.all(callers)) expect(seen.size).toBeGreaterThan(1);
  });
});

test('of a chain that is cut off anywhere nothing is taken but whole certificates', async () => {
  const bag = 'Bag Attributes\n    friendlyName: first\n';
  const chain = bag + first.cert + ca.cert;
  const ends = [bag.length + first.cert.length, chain.length];
  const whole = new Set(ends.flatMap((end) => [end - 1, end]));
  for (let length = 0; length <= chain.length; length++) {
    turn(put('cut', { cert: chain.slice(0, length), key: first.key }));
    const taken = await readCertificate(files()).then(
      () => true,
      (error: Error) => {
        expect(error.name).toBe('UnusableCertificate');
        return false;
      },
    );
    expect(taken, `cut after ${length}`).toBe(
      whole.has(length) || (length > ends[0]! && !chain.slice(ends[0], length).includes('---')),
    );
  }
});

test('TLS 1.2 and 1.3 are spoken, older ones and HTTP in the clear are not', async () => {
  turn(put('first', first));
  await start();
  const spoken = (version: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3') =>
    new Promise<string>((resolve) => {
      const socket = connect({
        host: '127.0.0.1',
        port: service.port,
        ca: ca.cert,
        minVersion: version,
        maxVersion: version,
        ciphers: 'DEFAULT:@SECLEVEL=0',
        ALPNProtocols: ['h2', 'http/1.1'],
      });
      socket.once('secureConnect', () => {
        resolve(`${socket.getProtocol()} ${new X509Certificate(socket.getPeerCertificate().raw).subject}`);
        socket.destroy();
      });
      socket.once('error', () => resolve('refused'));
    });
  expect(await Promise.all([spoken('TLSv1'), spoken('TLSv1.1')])).toEqual(['refused', 'refused']);
  expect(await spoken('TLSv1.2')).toBe('TLSv1.2 CN=first.example');
  expect(await spoken('TLSv1.3')).toBe('TLSv1.3 CN=first.example');
  await expect(fetch(`http://127.0.0.1:${service.port}/v1/models`)).rejects.toThrow();
  expect(await served()).toBe('first.example');
});
