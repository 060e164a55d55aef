import { chmodSync, closeSync, openSync } from 'node:fs';
import { createConnection, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { MAX_PATH_BYTES } from './socket-path.ts';

/** Limit for the answer of a process that listens. */
const ANSWER_MS = 5000;

/** Runs `work` with a path that is short enough for a socket. */
function within<T>(dir: string, name: string, work: (path: string, done: () => void) => T): T {
  const path = join(dir, name);
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES || process.platform !== 'linux') return work(path, () => {});
  const folder = openSync(dir, 'r');
  return work(`/proc/self/fd/${folder}/${name}`, () => closeSync(folder));
}

/** Listens in `dir` and answers each connection with `answer`. Null where the file system has no sockets. */
export function listenIn(dir: string, name: string, answer: () => string): Promise<Server | null> {
  return within(dir, name, (path, done) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.unref().end(answer());
    });
    server.unref().once('close', done);
    return new Promise((resolve) => {
      server.once('error', () => {
        done();
        resolve(null);
      });
      server.listen(path, () => {
        chmodSync(path, 0o600);
        resolve(server);
      });
    });
  });
}

/** Whether a process listens. The kernel answers, so stopped processes are 'there'. 'unknown' without an accessible socket. */
export function knock(dir: string, name: string): Promise<'there' | 'gone' | 'unknown'> {
  return connection(dir, name, (socket, settle) => {
    socket.once('connect', () => settle('there'));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED') settle('gone');
      else settle(code === 'EAGAIN' ? 'there' : 'unknown');
    });
  });
}

export function ask(dir: string, name: string): Promise<string> {
  return connection(dir, name, (socket, settle) => {
    let said = '';
    const end = () => settle(said);
    socket.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    socket.once('end', end).once('error', end).setTimeout(ANSWER_MS, end);
  });
}

function connection<T>(
  dir: string,
  name: string,
  use: (socket: ReturnType<typeof createConnection>, settle: (value: T) => void) => void,
): Promise<T> {
  return within(
    dir,
    name,
    (path, done) =>
      new Promise((resolve) => {
        const socket = createConnection(path);
        socket.once('close', done);
        use(socket, (value) => {
          resolve(value);
          socket.destroy();
        });
      }),
  );
}
