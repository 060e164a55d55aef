import { type ChildProcess, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess } from './child.ts';
import { pinned, withHarness } from './pin.ts';

/** A server that is not ours: another program, under its own command line. */
export interface ServerProcess {
  readonly pid: number;
  /** Why it has ended by itself, where it has. */
  lost(): string | undefined;
  end(): Promise<void>;
}

export interface ServerCommand {
  readonly name: string;
  readonly command: readonly string[];
  readonly port: number;
  readonly core: number | null;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** How long it may take until it listens, milliseconds. */
  readonly startMs?: number;
}

const usualStartMs = 20_000;
const keptOfErrors = 2_000;

/** Starts it and waits until its port takes connections. @throws Error with what it wrote to standard error */
export const startServer = async (options: ServerCommand): Promise<ServerProcess> => {
  const { name, command, port, core, env, cwd, startMs = usualStartMs } = options;
  const [file = '', ...rest] = withHarness(pinned(core, command));
  const child = spawn(file, rest, {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const { lost } = watch(child, name);
  const end = () => endProcess(child);
  for (const until = performance.now() + startMs; performance.now() < until && lost() === undefined; await sleep(50)) {
    if (await takesConnections(port)) return { pid: child.pid!, lost, end };
  }
  await end();
  throw new Error(lost() ?? `${name} did not listen within ${startMs / 1000} s.`);
};

/** Remembers why a process has ended. */
export const watch = (child: ChildProcess, name: string): { lost(): string | undefined } => {
  let lost: string | undefined;
  let errors = '';
  child.stderr?.on('data', (piece: Buffer) => {
    errors = `${errors}${piece}`.slice(-keptOfErrors);
  });
  child.once('exit', (code, signal) => {
    lost = `${name} has ended (${signal ?? code}). ${errors}`.trim();
  });
  child.once('error', (error) => {
    lost = `${name} could not be run: ${error.message}`;
  });
  return { lost: () => lost };
};

const takesConnections = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const answer = (taken: boolean) => () => {
      socket.destroy();
      resolve(taken);
    };
    socket.once('connect', answer(true)).once('error', answer(false));
  });

/** A port that was free a moment ago, for servers that cannot choose one themselves. */
export const freePort = async (): Promise<number> => {
  const { createServer } = await import('node:net');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
};
