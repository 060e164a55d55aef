import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Command } from 'commander';
import { destination, pino } from 'pino';
import { Failure } from '../app/failure.ts';
import type { FirstRunReport } from '../app/first-run.ts';
import { serve } from '../app/serve.ts';
import { readConfig } from '../config.ts';
import { onSignal, type SignalName, type Signals } from '../telemetry.ts';
import { withExamples } from './examples.ts';
import { operatorContext } from './operator.ts';
import type { Terminal } from './terminal.ts';

const standardError = 2;
/** Longest wait for the end of a start whose server shall stop. */
const startMs = 2_000;

const examples = `
Examples:
  weir serve
  PORT=9000 DATA_DIR=/var/lib/weir MODELS_FILE=models.json weir serve`;

/** `weir serve`: runs the gateway until it is told to stop. */
export const serveCommand = (terminal: Terminal): Command =>
  withExamples(new Command('serve').description('Run the gateway until SIGTERM'), examples).action(
    async (_: object, command: Command) => {
      const config = readConfig(terminal.env);
      const log = pino({ level: config.LOG_LEVEL }, destination({ dest: standardError, sync: true }));
      const ended = onSignal((name, signal) => {
        const { error, ...rest } = { error: undefined, ...signal };
        const level = error !== undefined ? 'error' : isWarning(name, rest) ? 'warn' : 'info';
        log[level](error === undefined ? rest : { ...rest, err: error }, name);
      });
      try {
        const interrupted = terminal.interrupted();
        const starting = serve(config, terminal.env, operatorContext(terminal, command));
        await Promise.race([starting, interrupted]);
        // Told to stop while it starts, it starts and stops in order: to exit in the middle may abort the store's thread. A start
        // that waits for something is just left: every file of it is made to be left at any moment.
        const running = await Promise.race([starting, wait(startMs, undefined, { ref: false })]);
        if (!running) return;
        log.info({ base_url: running.baseUrl, data_dir: config.DATA_DIR }, 'listening');
        if (running.firstRun) terminal.out(welcome(running.firstRun, running.models));
        const failure = await Promise.race([running.failed, interrupted]);
        const hasFailed = failure instanceof Error;
        try {
          await running.stop(hasFailed);
        } catch (error) {
          terminal.endSoon();
          // Whoever has failed says why, and not what came of it.
          if (!hasFailed) throw error;
        }
        if (hasFailed) throw new Failure(`The server had to stop: ${failure.message}`, 1, failure);
      } finally {
        ended();
      }
    },
  );

const warnings: ReadonlySet<SignalName> = new Set([
  'first_run.unfinished',
  'store.awaited',
  'store.option_ignored',
  'store.in_use',
  'store.lost',
  'store.away',
  'store.stumbled',
  'store.read_only',
  'stream.passed_over',
  'reactors.begun_again',
  'projection.rebuilt',
  'limits.trouble',
  'tiers.refused',
  'certificate.refused',
  'usage.recovered',
  'policies.unrecorded',
  'upstream.opened',
]);

/** What an operator should look into, although the gateway goes on. */
const isWarning = (name: SignalName, signal: object): boolean =>
  warnings.has(name) || (name === 'limits.restored' && (signal as Signals['limits.restored']).refused.length > 0);

const welcome = (made: FirstRunReport, [model = 'weir-sim-1', ...others]: readonly string[]): string => `
Weir made an organization, an Admin key, a project and a project key. They are shown once:

  Admin key    ${made.admin_api_key}
  Project      ${made.project_id}
  Project key  ${made.project_api_key}

They are also in ${made.file}; delete it once you have put the keys where they belong.

Create a key:
  curl ${made.base_url}/v1/organization/projects/${made.project_id}/api_keys -H 'Authorization: Bearer ${made.admin_api_key}' -H 'Content-Type: application/json' -H "Idempotency-Key: $(date +%s%N)" -d '{"name":"my key"}'

Send a message:
  curl ${made.base_url}/v1/messages -H 'Authorization: Bearer ${made.project_api_key}' -H 'Content-Type: application/json' -d '{"model":"${model}","max_tokens":200,"messages":[{"role":"user","content":"Hello"}]}'

Stream a message:
  curl -N ${made.base_url}/v1/messages -H 'Authorization: Bearer ${made.project_api_key}' -H 'Content-Type: application/json' -d '{"model":"${model}","max_tokens":200,"stream":true,"messages":[{"role":"user","content":"Hello"}]}'

Models: ${[model, ...others].join(', ')}. MODELS_FILE declares others.
Ctrl+C stops it; what it knows is in ${dirname(made.file)}. README.md goes on from here.

`;
