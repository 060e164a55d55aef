#!/usr/bin/env node
/** The `weir` command: the one file that touches the process. What it runs is in `cli/`. */
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
// The first process of a container: the kernel passes on to it no signal that it does not listen for.
if (process.pid === 1) for (const signal of stopSignals) process.on(signal, () => process.exit(1));

// What the process makes is for its owner alone, LMDB's files too, whatever the folder around it allows.
process.umask(0o077);
/** Nobody who asks for a verdict by the exit status may take a full disk for one. */
let failure: number | undefined;
const left = allowClosedOutput(() => process.exit(failure ?? 1));
lowerHelperThreads();
// gRPC gives TLS the name of a host to send also where that is an address, as the nodes of a cluster often have it. Node
// says that it will ignore it, which is what is wanted: the address is compared with the certificate all the same.
withoutNodeWarning('DEP0123');

// Imported only now: an unfit Node would fail on a syntax or a symbol before it could be told apart.
const { program } = await import('./cli/program.ts');

/** Only who asks is told; to every other command a signal does what it always does. */
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

/** A shell that ends hangs up as well: then there is no terminal any more, and nothing to reload for. */
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

/** By name, or by number where the system has none for it, as in many containers. */
const osUser = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
};

process.on('uncaughtExceptionMonitor', () => {
  // The last lines of the log would be tried for ever where they cannot be written, and whoever starts it anew waits for its end.
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
// A pipe takes what it can and the rest later: ending at once would cut a long answer short.
const flushed = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => stream.write('', () => resolve()));
await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
process.exit(code);
