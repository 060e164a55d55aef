import type { AddressInfo } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { HttpFault } from '../../../src/data/upstream/http1/fault.ts';
import { type PinnedCa, trusting } from '../../../src/data/upstream/http1/trust.ts';
import { type Certified, certificateAuthority, signedBy } from '../../support/certificates.ts';
import { answer, ask, askAndRest, listen, onRequest, poolTo, Recorder } from './askers.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000 });

const authority = certificateAuthority();
const pinned = (pem: string): PinnedCa => ({ file: '/etc/weir/models-ca.pem', pem });
const ours = pinned(authority.cert);

/** A TLS server until the test ends, and the requests and names that came. */
const serve = async (certificate: Certified, respond: (socket: TLSSocket, body: string) => void = echo) => {
  const seen: { requests: number; names: (string | false | null)[]; protocols: (string | false | null)[] } = {
    requests: 0,
    names: [],
    protocols: [],
  };
  const sockets: TLSSocket[] = [];
  const server: Server = createServer({ ...certificate, ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => {
    sockets.push(socket);
    seen.names.push(socket.servername);
    seen.protocols.push(socket.alpnProtocol);
    socket.on('error', () => {});
    onRequest(socket, (body) => {
      seen.requests += 1;
      respond(socket, body);
    });
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  );
  return { seen, sockets, port: (server.address() as AddressInfo).port };
};

const echo = (socket: TLSSocket, body: string) => void socket.write(answer(body));
const own = (...more: readonly string[]) => signedBy(authority, ['models.example', ...more]);

class Failing extends Recorder {
  error: unknown = null;
  override failed(error: unknown, answered: boolean): void {
    this.error = error;
    super.failed(error, answered);
  }
}

/** What a request fails with, and whether the server saw any of it. */
const refusal = async (certificate: Certified, ca: PinnedCa | null, host = 'models.example') => {
  const { port, seen } = await serve(certificate);
  const asked = new Failing();
  ask(poolTo(port, { trust: trusting(ca), host }), 'secret', asked);
  await asked.over;
  expect(seen.requests).toBe(0);
  return asked.error;
};

describe('a pinned authority', () => {
  test('is trusted: requests of any size pass, on one connection, by its name and in HTTP/1.1', async () => {
    const { port, seen } = await serve(own());
    const pool = poolTo(port, { trust: trusting(ours) });
    for (const body of ['a', 'b'.repeat(300_000), 'c']) expect(await askAndRest(pool, body)).toEqual({ body });
    expect(seen).toEqual({ requests: 3, names: ['models.example'], protocols: ['http/1.1'] });
  });

  test('is trusted for an address too, where the certificate names it', async () => {
    const { port } = await serve(own('127.0.0.1'));
    expect(await ask(poolTo(port, { trust: trusting(ours), host: '127.0.0.1' }), 'a').over).toEqual({ body: 'a' });
  });

  test.each<[string, Certified, PinnedCa | null, string]>([
    ['signed by another of the same name', own(), pinned(certificateAuthority().cert), 'signature'],
    ['signed by another', own(), pinned(certificateAuthority('Another').cert), 'unable to'],
    ['for another name', signedBy(authority, ['other.example']), ours, 'models.example'],
    [
      'that has expired',
      signedBy(authority, ['models.example'], { from: -9, to: -1 }),
      ours,
      'certificate has expired',
    ],
    ['that is not valid yet', signedBy(authority, ['models.example'], { from: 1 }), ours, 'not yet valid'],
    ['that nobody has signed', certificateAuthority('models.example'), ours, 'self-signed'],
  ])('refuses a certificate %s, before anything is sent', async (_, certificate, ca, reason) => {
    const error = await refusal(certificate, ca);
    expect(error).toBeInstanceOf(HttpFault);
    expect(error).toMatchObject({ code: 'certificate' });
    expect((error as Error).message).toContain(reason);
    expect((error as Error).message).toContain('only the authorities in /etc/weir/models-ca.pem are trusted');
  });

  test('refuses a certificate for another address', async () => {
    expect(await refusal(own('127.0.0.9'), ours, '127.0.0.1')).toMatchObject({ code: 'certificate' });
  });
});

describe('without one', () => {
  test('only the authorities that come with Node are trusted', async () => {
    const error = await refusal(own(), null);
    expect(error).toMatchObject({ code: 'certificate', message: expect.stringContaining('no ca_file is set') });
  });

  test('no variable of the environment makes it trust everybody', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await refusal(own(), null)).toMatchObject({ code: 'certificate' });
  });
});

test('a server without TLS is no fault of a certificate', async () => {
  const { port } = await listen((socket) => socket.end('HTTP/1.1 400 Bad\r\n\r\n'));
  const asked = new Failing();
  ask(poolTo(port, { trust: trusting(ours) }), '', asked);
  expect(await asked.over).toMatchObject({ answered: false });
  expect(asked.error).not.toMatchObject({ code: 'certificate' });
});

test('an answer that is not read waits at the upstream', async () => {
  const size = 30_000_000;
  let written = 0;
  const { port } = await serve(own(), (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`);
    const write = () => {
      while (written < size) {
        written += 100_000;
        if (!socket.write('x'.repeat(100_000))) return void socket.once('drain', write);
      }
    };
    write();
  });
  const recorder = new Recorder();
  recorder.onBody = () => recorder.connection!.pause();
  ask(poolTo(port, { trust: trusting(ours) }), '', recorder);
  let before = -1;
  await vi.waitFor(
    () => {
      const was = before;
      before = written;
      expect(recorder.length).toBeGreaterThan(0);
      expect(written).toBe(was);
    },
    { timeout: 20_000, interval: 50 },
  );
  expect(written).toBeLessThan(size - 5_000_000);
  recorder.onBody = null;
  recorder.connection!.resume();
  expect(await recorder.over).toEqual({ body: 'x'.repeat(size) });
});

test('the end of the connection ends an answer without a length, and an early one is told', async () => {
  const { port } = await serve(own(), (socket, body) =>
    socket.end(body === 'whole' ? 'HTTP/1.1 200 OK\r\n\r\nab' : 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab'),
  );
  const pool = poolTo(port, { trust: trusting(ours) });
  expect(await ask(pool, 'whole').over).toEqual({ body: 'ab' });
  expect(await ask(pool, 'part').over).toEqual({ code: 'closed', answered: true });
});
