#!/usr/bin/env node
/** The `weir` command: the only file that touches the process. */
import { closeSync, openSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { allowClosedOutput } from './process/closed-output.ts';
import { lowerHelperThreads } from './process/helper-threads.ts';
import { endSoon } from './process/last-resort.ts';
import { runsOn } from './process/node-version.ts';
import { withoutNodeWarning } from './process/node-warnings.ts';

const complaint = runsOn(process.versions.node);
if (complaint !== null) {
  process.stderr.write(`${complaint}\n`);
  process.exit(1);
}

const stopSignals = ['SIGTERM', 'SIGINT'] as const;
// As PID 1 of a container, the process gets only signals that it listens for.
if (process.pid === 1) for (const signal of stopSignals) process.on(signal, () => process.exit(1));

// For all files of the process, LMDB's included.
process.umask(0o077);
/** Set if a full disk must not look like a verdict in the exit status. */
let failure: number | undefined;
const left = allowClosedOutput(() => process.exit(failure ?? 1));
lowerHelperThreads();
// gRPC sends the host in TLS even if it is an IP address, as it often is in a cluster. Node warns that it ignores it,
// which is right: the address is still compared with the certificate.
withoutNodeWarning('DEP0123');

// Imported late, because an unsupported Node would fail on its syntax before the message above.
const { program } = await import('./cli/program.ts');

/** Only for commands that wait for it; for others signals keep their default effect. */
const interrupted = (): Promise<void> =>
  new Promise((resolve) => {
    let signals = 0;
    const onSignal = () => {
      signals += 1;
      if (signals > 1) {
        endSoon();
        process.exit(1);
      }
      resolve();
    };
    for (const signal of stopSignals) process.removeAllListeners(signal).on(signal, onSignal);
  });

/** A shell that ends also sends SIGHUP; then the terminal is gone and there is nothing to reload for. */
const hasLostTerminal = (): boolean => {
  if (!process.stderr.isTTY) return false;
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return false;
  } catch {
    return true;
  }
};
const onHangup = (reload: () => void): void => {
  process.on('SIGHUP', () => {
    if (hasLostTerminal()) process.kill(process.pid, 'SIGTERM');
    else reload();
  });
};

const ask = async (question: string): Promise<string> => {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
};

/** In many containers the system has no name for the user. */
const osUser = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
};

process.on('uncaughtExceptionMonitor', () => {
  // A log that cannot be written would be retried forever, and a supervisor waits for the end.
  endSoon();
  process.once('exit', () => {
    process.exitCode = failure ?? 1;
  });
});

const code = await program({
  argv: process.argv.slice(2),
  env: process.env,
  user: osUser(),
  host: hostname(),
  interrupted,
  onHangup,
  left,
  endSoon,
  failsWith(status) {
    failure = status;
  },
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  columns: process.stdout.columns || Number(process.env.COLUMNS) || 80,
  isRead: process.stdout.isTTY,
  ...(process.stderr.isTTY && { screen: process.stderr }),
  ...(process.stdin.isTTY && { ask }),
});
// A pipe takes the rest later; exiting at once would truncate the output.
const flushed = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => stream.write('', () => resolve()));
await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
process.exit(code);
