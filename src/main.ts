#!/usr/bin/env node
/** The `weir` command: the one file that touches the process. What it runs is in `cli/`. */
import { runsOn } from './node-version.ts';

const complaint = runsOn(process.versions.node);
if (complaint !== null) {
  process.stderr.write(`${complaint}\n`);
  process.exit(1);
}

// Imported only now: an unfit Node would fail on a syntax or a symbol before it could be told apart.
const { program } = await import('./cli/program.ts');

let interrupts = 0;
const interrupted = new Promise<void>((resolve) => {
  const onSignal = () => {
    interrupts += 1;
    if (interrupts > 1) process.exit(1);
    resolve();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
});

const code = await program({
  argv: process.argv.slice(2),
  env: process.env,
  interrupted,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  columns: process.stdout.columns ?? 120,
});
process.exit(code);
