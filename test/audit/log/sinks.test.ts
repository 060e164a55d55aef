import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { OwnLog } from '../../../src/audit/log/sinks/file-sink.ts';
import { sinkOf } from '../../../src/audit/log/sinks/sink-address.ts';
import { openSinks } from '../../../src/audit/log/sinks/sinks.ts';
import { askWitness } from '../../../src/audit/log/sinks/witness.ts';
import { checkpointText, notesIn, parsedCheckpoint, type SignedCheckpoint } from '../../../src/merkle/checkpoint.ts';
import { isSignedWith, signed, signerOf, verifierOf } from '../../../src/merkle/note.ts';
import { consistencyProof, rootOf } from '../../../src/merkle/tree.ts';
import { onSignal } from '../../../src/telemetry.ts';
import { leafOf, sourceOf } from '../../merkle/reference.ts';
import { startWitness } from './witness.ts';

const hashes = Array.from({ length: 600 }, (_, i) => leafOf(Buffer.from(String(i))));
const leaves = sourceOf(hashes);
const signer = signerOf('weir/log', Buffer.alloc(32, 1));
const checkpoint = (size: number, source = leaves): SignedCheckpoint =>
  parsedCheckpoint(signed(checkpointText({ origin: 'weir/log', size, root: rootOf(source, size) }), signer))!;

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const served = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  ends.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** All of the leaves are known here, and no more are in the store. */
const whole: OwnLog = { leaves: () => leaves, size: () => hashes.length, covered: async () => hashes.length };

const opened = (addresses: string[], log: Partial<OwnLog> = {}) => {
  const sinks = openSinks({
    addresses: addresses.map((each) => sinkOf(each)!),
    log: { ...whole, ...log },
    retryMs: [2, 8],
  });
  ends.push(sinks.close);
  return sinks;
};

const folder = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'weir-sinks-'));
  ends.push(() => rmSync(dir, { recursive: true }));
  return dir;
};

const said = (): string[] => {
  const signals: string[] = [];
  ends.push(onSignal((name, signal) => signals.push(`${name} ${(signal as { sink?: string }).sink}`)));
  return signals;
};

describe('the address of a sink', () => {
  test.each(['/mnt/worm/checkpoints', 'https://audit.example/weir', 'http://127.0.0.1:80/x', 'http://localhost/x'])(
    '%s',
    (text) => {
      expect(sinkOf(text)?.kind).toBe(text.startsWith('/') ? 'file' : 'webhook');
    },
  );
  test.each([
    '',
    'relative/file',
    'http://audit.example/',
    'ftp://a/b',
    'https://',
    'witness+https://w.example',
    'witness+http://w.example#a+b+c',
  ])('is not %s', (text) => expect(sinkOf(text)).toBeUndefined());
  test('of a witness has its key', () => {
    const key = startWitnessKey();
    expect(sinkOf(`witness+https://w.example/p/#${key}`)).toMatchObject({
      kind: 'witness',
      url: 'https://w.example/p',
    });
    expect(sinkOf(`witness+http://w.example/p#${key}`)).toBeUndefined();
  });
});

const startWitnessKey = (): string => `witness.example+${startWitness.keyOf('witness.example')}`;

describe('a file', () => {
  test('gets every checkpoint behind those that are there', async () => {
    const path = join(folder(), 'checkpoints');
    writeFileSync(path, checkpoint(1).signed);
    const sinks = opened([path]);
    for (const size of [2, 3, 400]) sinks.bring(checkpoint(size));
    await sinks.close();
    expect(notesIn(readFileSync(path, 'utf8')).notes).toEqual([1, 2, 3, 400].map((size) => checkpoint(size).signed));
  });

  test('on a mount that is away gets them all when it is back', async () => {
    const dir = join(folder(), 'mount');
    const signals = said();
    const sinks = opened([join(dir, 'checkpoints')]);
    for (const size of [2, 3]) sinks.bring(checkpoint(size));
    await vi.waitFor(() => expect(signals).toEqual([`audit.sink_lost ${join(dir, 'checkpoints')}`]));
    const { mkdirSync } = await import('node:fs');
    mkdirSync(dir);
    await vi.waitFor(() => expect(signals).toHaveLength(2));
    await sinks.close();
    expect(notesIn(readFileSync(join(dir, 'checkpoints'), 'utf8')).notes).toHaveLength(2);
  });
});

describe('a file whose last checkpoint', () => {
  const fork = sourceOf(hashes.with(50, leafOf(Buffer.from('another'))));
  const refusals = (): string[] => {
    const errors: string[] = [];
    ends.push(onSignal((name, signal) => errors.push(`${name} ${(signal as { error?: unknown }).error ?? ''}`)));
    return errors;
  };
  const fileOf = (...sizes: number[]): string => {
    const path = join(folder(), 'checkpoints');
    writeFileSync(path, sizes.map((size) => checkpoint(size).signed).join(''));
    return path;
  };
  const sizesIn = (path: string) =>
    notesIn(readFileSync(path, 'utf8')).notes.map((note) => parsedCheckpoint(note)!.size);
  const way = 'nothing is written to it; keep it, and start with a new file in AUDIT_SINKS';

  test('covers more than the log gets nothing, until it is put elsewhere', async () => {
    const path = fileOf(300);
    const before = readFileSync(path, 'utf8');
    const said = refusals();
    const sinks = opened([path], { size: () => 200, covered: async () => 200 });
    sinks.bring(checkpoint(200));
    await vi.waitFor(() => expect(said).toHaveLength(1));
    expect(said[0]).toContain('its last checkpoint is of 300 leaves, and this log has fewer, as where an older backup');
    expect(said[0]).toContain(way);
    expect(readFileSync(path, 'utf8')).toBe(before);
    renameSync(path, `${path}.kept`);
    await vi.waitFor(() => expect(said).toHaveLength(2));
    expect(sizesIn(path)).toEqual([200]);
    expect(readFileSync(`${path}.kept`, 'utf8')).toBe(before);
  });

  test.each([
    ['the log has grown beyond', 400],
    ['the log has come to', 300],
  ])('is of another history, which %s, gets nothing', async (_, size) => {
    const path = fileOf(300);
    const said = refusals();
    const sinks = opened([path], { leaves: () => fork, size: () => size, covered: async () => size });
    sinks.bring(checkpoint(size, fork));
    await vi.waitFor(() => expect(said).toHaveLength(1));
    await sinks.close();
    expect(said[0]).toContain('is of 300 leaves, and this log has others');
    expect(sizesIn(path)).toEqual([300]);
  });

  test('is of another history only behind what both have is no reason to stop before', async () => {
    const path = fileOf(50);
    const sinks = opened([path], { leaves: () => fork });
    sinks.bring(checkpoint(300, fork));
    await sinks.close();
    expect(sizesIn(path)).toEqual([50, 300]);
  });

  test('another gateway of this log has brought, waits for what this one does not know yet', async () => {
    const path = fileOf(300);
    const said = refusals();
    let size = 200;
    let asked = 0;
    const covered = async () => {
      asked += 1;
      return 300;
    };
    const sinks = opened([path], { size: () => size, covered });
    sinks.bring(checkpoint(200));
    await vi.waitFor(() => expect(asked).toBeGreaterThan(2));
    expect(sizesIn(path)).toEqual([300]);
    size = 300;
    await vi.waitFor(() => expect(sizesIn(path)).toEqual([300, 200]));
    expect(said).toEqual([]);
  });

  test('cannot be held against the log while the store is away waits too', async () => {
    const path = fileOf(300);
    const said = refusals();
    let isAway = true;
    let asked = 0;
    const covered = async () => {
      asked += 1;
      if (isAway) throw new Error('away');
      return 200;
    };
    const sinks = opened([path], { size: () => 200, covered });
    sinks.bring(checkpoint(200));
    await vi.waitFor(() => expect(asked).toBeGreaterThan(2));
    expect(said).toEqual([]);
    isAway = false;
    await vi.waitFor(() => expect(said).toHaveLength(1));
    expect(sizesIn(path)).toEqual([300]);
  });

  test('is not the largest is held against the log by the largest', async () => {
    const path = fileOf(300, 200);
    const said = refusals();
    const sinks = opened([path], { size: () => 250, covered: async () => 250 });
    sinks.bring(checkpoint(250));
    await vi.waitFor(() => expect(said).toHaveLength(1));
    await sinks.close();
    expect(sizesIn(path)).toEqual([300, 200]);
  });

  test('is this log’s while the log is replaced by an older copy gets nothing more', async () => {
    const path = fileOf(100);
    const said = refusals();
    let size = 300;
    const sinks = opened([path], { size: () => size, covered: async () => size });
    sinks.bring(checkpoint(300));
    await vi.waitFor(() => expect(sizesIn(path)).toEqual([100, 300]));
    size = 200;
    sinks.bring(checkpoint(200));
    await vi.waitFor(() => expect(said).toHaveLength(1));
    expect(sizesIn(path)).toEqual([100, 300]);
  });

  test('is of another log says nothing of this one', async () => {
    const path = join(folder(), 'checkpoints');
    const other = signerOf('weir/other', Buffer.alloc(32, 2));
    const text = signed(checkpointText({ origin: 'weir/other', size: 900, root: rootOf(leaves, 600) }), other);
    writeFileSync(path, text);
    const sinks = opened([path]);
    sinks.bring(checkpoint(300));
    await sinks.close();
    expect(sizesIn(path)).toEqual([900, 300]);
  });

  test('stands behind more than is read of it is found at the end', async () => {
    const path = fileOf(...Array.from({ length: 400 }, (_, i) => i + 1));
    const said = refusals();
    const sinks = opened([path], { size: () => 399, covered: async () => 399 });
    sinks.bring(checkpoint(399));
    await vi.waitFor(() => expect(said).toHaveLength(1));
    expect(sizesIn(path)).toHaveLength(400);
  });
});

describe('a file that ends within a line, since a write broke off', () => {
  const left = checkpoint(1).signed.slice(0, -20);

  test('gets the next checkpoint on a line of its own', async () => {
    const path = join(folder(), 'checkpoints');
    writeFileSync(path, left);
    const sinks = opened([path]);
    for (const size of [2, 3]) sinks.bring(checkpoint(size));
    await sinks.close();
    expect(readFileSync(path, 'utf8')).toBe(`${left}\n${checkpoint(2).signed}${checkpoint(3).signed}`);
  });

  test.skipIf(!existsSync('/dev/full'))('is not read where it is no file', async () => {
    const signals = said();
    const sinks = opened(['/dev/full']);
    sinks.bring(checkpoint(1));
    await vi.waitFor(() => expect(signals).toEqual(['audit.sink_lost /dev/full']));
  });
});

describe('a webhook', () => {
  test('gets each in its body, and the newest after it was away', async () => {
    let status = 204;
    const bodies: string[] = [];
    const url = await served(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      if (status === 204) bodies.push(Buffer.concat(chunks).toString());
      response.writeHead(status).end();
    });
    const signals = said();
    const sinks = opened([`${url}/hook?key=secret`]);
    sinks.bring(checkpoint(1));
    await vi.waitFor(() => expect(bodies).toEqual([checkpoint(1).signed]));
    status = 503;
    for (const size of [2, 3, 4, 5]) sinks.bring(checkpoint(size));
    // What follows the host may be a secret.
    await vi.waitFor(() => expect(signals).toEqual([`audit.sink_lost ${url}`]));
    status = 204;
    await vi.waitFor(() => expect(bodies.at(-1)).toBe(checkpoint(5).signed));
    expect(bodies.length).toBeLessThan(5);
    expect(signals).toEqual([`audit.sink_lost ${url}`, `audit.sink_back ${url}`]);
  });

  test('is told of once for each reason why it is away', async () => {
    let status = 500;
    const url = await served((_, response) => response.writeHead(status).end());
    const errors: string[] = [];
    ends.push(onSignal((_, signal) => errors.push(String((signal as { error?: unknown }).error ?? 'back'))));
    const sinks = opened([url]);
    sinks.bring(checkpoint(1));
    await vi.waitFor(() => expect(errors).toHaveLength(1));
    status = 403;
    await vi.waitFor(() => expect(errors).toHaveLength(2));
    status = 200;
    await vi.waitFor(() => expect(errors).toHaveLength(3));
    expect(errors).toEqual(['Error: it answered 500', 'Error: it answered 403', 'back']);
  });

  test('that has accepted may go on answering', async () => {
    let isLeft = false;
    const url = await served((request, response) => {
      response.writeHead(200).write('and so on');
      request.socket.once('close', () => {
        isLeft = true;
      });
    });
    const sinks = opened([url]);
    sinks.bring(checkpoint(1));
    await sinks.close();
    await vi.waitFor(() => expect(isLeft).toBe(true));
  });

  test('that never answers keeps nobody from closing for longer than one attempt', async () => {
    const url = await served((_, response) => response.writeHead(500).end());
    const sinks = opened([url]);
    sinks.bring(checkpoint(1));
    await sinks.close();
  });
});

describe('a witness', () => {
  test('signs the first and what continues it, and its signature goes to the files', async () => {
    const witness = await startWitness('witness.example', signer.verifier);
    ends.push(witness.close);
    const path = join(folder(), 'checkpoints');
    const sinks = opened([path, `witness+${witness.url}#${witness.key}`]);
    for (const size of [1, 2, 7, 256, 600]) {
      sinks.bring(checkpoint(size));
      await vi.waitFor(() => expect(witness.size).toBe(size));
    }
    await sinks.close();
    const last = parsedCheckpoint(notesIn(readFileSync(path, 'utf8')).notes.at(-1)!)!;
    expect(last.size).toBe(600);
    expect(isSignedWith(last.note, verifierOf(witness.key)!)).toBe(true);
    expect(isSignedWith(last.note, signer.verifier)).toBe(true);
  });

  test('that has signed more than a restarted gateway knows of says how much', async () => {
    const witness = await startWitness('witness.example', signer.verifier);
    ends.push(witness.close);
    const first = opened([`witness+${witness.url}#${witness.key}`]);
    first.bring(checkpoint(100));
    await vi.waitFor(() => expect(witness.size).toBe(100));
    const second = opened([`witness+${witness.url}#${witness.key}`]);
    second.bring(checkpoint(300));
    await vi.waitFor(() => expect(witness.size).toBe(300));
    expect(consistencyProof(leaves, 100, 300).length).toBeGreaterThan(0);
  });

  test('signs what it has signed for another gateway once more', async () => {
    const witness = await startWitness('witness.example', signer.verifier);
    ends.push(witness.close);
    const path = join(folder(), 'checkpoints');
    const first = opened([`witness+${witness.url}#${witness.key}`]);
    first.bring(checkpoint(100));
    await first.close();
    const signals = said();
    const second = opened([path, `witness+${witness.url}#${witness.key}`]);
    second.bring(checkpoint(100));
    await second.close();
    expect(signals).toEqual([]);
    const [, cosigned] = notesIn(readFileSync(path, 'utf8')).notes;
    expect(isSignedWith(parsedCheckpoint(cosigned!)!.note, verifierOf(witness.key)!)).toBe(true);
  });

  test('signs no fork, and that is said', async () => {
    const witness = await startWitness('witness.example', signer.verifier);
    ends.push(witness.close);
    const first = opened([`witness+${witness.url}#${witness.key}`]);
    first.bring(checkpoint(100));
    await vi.waitFor(() => expect(witness.size).toBe(100));
    const fork = sourceOf(hashes.with(50, leafOf(Buffer.from('another'))));
    const signals = said();
    const second = opened([`witness+${witness.url}#${witness.key}`], { leaves: () => fork });
    second.bring(checkpoint(300, fork));
    await vi.waitFor(() => expect(signals).toEqual([`audit.sink_lost ${witness.url}`]));
    expect(witness.size).toBe(100);
  });

  const asked = async (listener: RequestListener, answerMs = 5_000): Promise<unknown> => {
    const url = await served(listener);
    const verifier = verifierOf(startWitnessKey())!;
    return askWitness(
      { url, verifier },
      () => leaves,
      answerMs,
    )(checkpoint(8)).catch((error: unknown) => String(error));
  };

  test.each([
    ['-5\n', 'it has signed another tree, and does not say of what size'],
    ['x\n', 'it has signed another tree, and does not say of what size'],
    ['5 and more\n', 'it has signed another tree, and does not say of what size'],
    ['99999999999999999999\n', 'it has signed another tree, and does not say of what size'],
    ['500\n', 'it has signed another tree, of 500 leaves'],
    ['0\n', 'it has signed another tree, of 0 leaves'],
    ['3\n', 'it answered 409'],
  ])('that says 409 and %j is told of', async (text, why) => {
    expect(await asked((_, response) => response.writeHead(409).end(text))).toBe(`WitnessRefused: ${why}`);
  });

  test.each([
    ['nothing', ''],
    ['nonsense', 'hello\n\u001b[31m'],
    ['a signature of another size', `\u2014 witness.example ${Buffer.alloc(34).toString('base64')}\n`],
  ])('that answers %s has signed nothing', async (_, text) => {
    expect(await asked((_request, response) => response.end(text))).toBe(
      'WitnessRefused: its signature is not its own',
    );
  });

  test('whose answer has no end is read as far as one has to say', async () => {
    let sent = 0;
    const answer = await asked((request, response) => {
      const line = Buffer.alloc(64 * 1024, '\u2014 witness.example AAAA\n');
      const more = (): void => {
        sent += line.length;
        if (sent < 512 * 1024 * 1024 && !request.socket.destroyed) response.write(line, more);
      };
      more();
    });
    expect(answer).toBe('WitnessRefused: its signature is not its own');
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  test('that begins to answer and goes no further is given up', async () => {
    const answer = await asked((_, response) => response.writeHead(200).write('\u2014 '), 50);
    expect(answer).toBe('NoAnswer: it has not answered in 0.05 s');
  });
});
