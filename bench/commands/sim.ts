import { createWriteStream } from 'node:fs';
import { Command, Option } from 'commander';
import { durationBetween, numberBetween, share, wholeBetween } from '../options.ts';
import type { Behaviour } from '../sim/behaviour.ts';
import { startSim } from '../sim/server.ts';
import type { Terminal } from '../terminal.ts';

interface SimOptions {
  readonly host: string;
  readonly port: number;
  readonly ttft: number;
  readonly ttftSigma: number;
  readonly itl: number;
  readonly itlSigma: number;
  readonly tokens: number;
  readonly tokensSigma: number;
  readonly errors: number;
  readonly aborts: number;
  readonly seed: number;
  readonly ledger?: string;
}

const examples = `
Examples:
  npm run bench -- sim --port 9100 --ttft 200ms --ttft-sigma 0.4 --itl 20ms --tokens 120
  npm run bench -- sim --port 9100 --errors 1% --aborts 0.5% --ledger served.ndjson
  curl http://127.0.0.1:9100/ledger           what it has served: requests, tokens, aborts, most at once

It speaks POST /v1/messages, streamed and not. In a MODELS_FILE of Weir it is an upstream of kind "anthropic" with
base_url http://127.0.0.1:9100 and private_network true. Spreads are lognormal: sigma 0 is exact, 0.5 is wide.`;

export const simCommand = (terminal: Terminal): Command => {
  const time = durationBetween(0, 600);
  const sigma = numberBetween(0, 3);
  return new Command('sim')
    .description('A simulated model server, for load tests of any gateway')
    .option('--host <address>', 'to listen on', '127.0.0.1')
    .addOption(new Option('--port <n>', '0 takes a free one').argParser(wholeBetween(0, 65_535)).default(9100))
    .addOption(new Option('--ttft <time>', 'median time to the first token').argParser(time).default(0, '0s'))
    .addOption(new Option('--ttft-sigma <s>', 'its spread').argParser(sigma).default(0))
    .addOption(new Option('--itl <time>', 'median time from one token to the next').argParser(time).default(0, '0s'))
    .addOption(new Option('--itl-sigma <s>', 'its spread').argParser(sigma).default(0))
    .addOption(new Option('--tokens <n>', 'median length of an answer').argParser(wholeBetween(1, 100_000)).default(32))
    .addOption(new Option('--tokens-sigma <s>', 'its spread').argParser(sigma).default(0))
    .addOption(new Option('--errors <share>', 'answered with 529').argParser(share).default(0, '0%'))
    .addOption(new Option('--aborts <share>', 'cut in their middle').argParser(share).default(0, '0%'))
    .addOption(
      new Option('--seed <n>', 'the same seed, the same fates in the same order')
        .argParser(wholeBetween(0, 2 ** 31 - 1))
        .default(1),
    )
    .option('--ledger <file>', 'append a JSON line for each request that has ended')
    .addHelpText('after', examples)
    .action(async ({ host, port, ttft, itl, ledger, ...options }: SimOptions) => {
      const behaviour: Behaviour = { ...options, ttftMs: ttft * 1000, itlMs: itl * 1000 };
      const file = ledger === undefined ? null : createWriteStream(ledger, { flags: 'a' });
      const write = file ? { write: (entry: object) => void file.write(`${JSON.stringify(entry)}\n`) } : {};
      const sim = await startSim({ host, port, behaviour, ...write });
      terminal.out(`The simulated model listens on http://${host}:${sim.port} (Ctrl-C ends it)\n`);
      await new Promise((resolve) => terminal.session.interrupted.addEventListener('abort', resolve, { once: true }));
      sim.close();
      terminal.out(`${JSON.stringify(sim.totals())}\n`);
      await new Promise<void>((resolve) => (file ? file.end(resolve) : resolve()));
    });
};
