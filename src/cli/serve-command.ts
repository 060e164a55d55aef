import { setTimeout as wait } from 'node:timers/promises';
import { Command } from 'commander';
import type { FirstRunReport } from '../app/first-run.ts';
import { serve } from '../app/serve.ts';
import { type Config, readConfig } from '../config/config.ts';
import { readConnectionString } from '../eventstoredb/client/connection-string.ts';
import { openLog } from '../observability/log/log.ts';
import { Failure } from '../process/failure.ts';
import { withExamples } from './examples.ts';
import { operatorContext } from './operator.ts';
import type { Terminal } from './terminal.ts';

/** Longest wait for a start that is interrupted. */
const startMs = 5_000;

const examples = `
Examples:
  weir serve
  weir serve --new-store               begin a new log where read models or secrets of another are
  PORT=9000 DATA_DIR=/var/lib/weir MODELS_FILE=models.json weir serve`;

export const serveCommand = (terminal: Terminal): Command =>
  withExamples(
    new Command('serve').description(
      'Run the gateway until SIGTERM; SIGHUP has it read its files of models, tiers and certificate again',
    ),
    examples,
  )
    .option(
      '--new-store',
      'begin a log where there is none, whatever is here of another one; name other files in AUDIT_SINKS then',
    )
    .action(async ({ newStore = false }: { newStore?: boolean }, command: Command) => {
      const config = readConfig(terminal.env);
      const format = config.LOG_FORMAT ?? (terminal.screen ? 'pretty' : 'json');
      const log = openLog({
        level: config.LOG_LEVEL,
        format,
        isColored: terminal.screen !== undefined && !terminal.env.NO_COLOR,
        accessShare: config.ACCESS_LOG,
      });
      try {
        const interrupted = terminal.interrupted();
        let reload = (): void => {
          isReloadDue = true;
        };
        let isReloadDue = false;
        terminal.onHangup?.(() => reload());
        const starting = serve(config, terminal.env, operatorContext(terminal, command), log, newStore);
        await Promise.race([starting, interrupted]);
        // A start that is interrupted completes and stops in order, because exiting in between may abort the store's thread. A start
        // that waits for something is abandoned: its files are safe at any moment.
        const running = await Promise.race([starting, wait(startMs, undefined, { ref: false })]);
        if (!running) return;
        const { baseUrl: base_url, metricsUrl: metrics_url } = running;
        log.info({ base_url, metrics_url, data_dir: config.DATA_DIR }, 'listening');
        reload = () => void running.reload();
        if (isReloadDue) reload();
        const { firstRun, models } = running;
        if (firstRun) terminal.out(welcome(firstRun, models, placeOfEvents(config), terminal.isRead === true));
        const failure = await Promise.race([running.failed, interrupted]);
        const hasFailed = failure instanceof Error;
        try {
          await running.stop(hasFailed);
        } catch (error) {
          terminal.endSoon();
          // The first failure is reported, not its consequences.
          if (!hasFailed) throw error;
        }
        if (hasFailed) throw new Failure(`The server had to stop: ${failure.message}`, 1, failure);
      } finally {
        if ((await log.close()) === 'stuck') terminal.endSoon();
      }
    });

const placeOfEvents = ({ EVENTSTORE_URL: url, DATA_DIR }: Config): string => {
  if (url === undefined) return `what it knows is in ${DATA_DIR}`;
  const hosts = readConnectionString(url).hosts.map(({ address, port }) => `${address}:${port}`);
  return `its events are in the event store at ${hosts.join(', ')}, and what it makes of them is in ${DATA_DIR}`;
};

/** @param isShown whether a person reads the output; keys must not get into a log */
const welcome = (
  made: FirstRunReport,
  [model = 'weir-sim-1', ...others]: readonly string[],
  events: string,
  isShown: boolean,
): string => {
  const adminKey = isShown ? made.admin_api_key : '$ADMIN_API_KEY';
  const projectKey = isShown ? made.project_api_key : '$PROJECT_API_KEY';
  const keys = `
  Admin key    ${adminKey}
  Project      ${made.project_id}
  Project key  ${projectKey}

They are also in ${made.file}; delete it once you have put the keys where they belong.
`;
  const place = `
The keys are in ${made.file}, as admin_api_key and project_api_key; delete it once you have put them where they belong.
`;
  return `
Weir made an organization, an Admin key, a project and a project key.${isShown ? ' They are shown once:\n' : ''}${isShown ? keys : place}
Create a key:
  curl -w '\\n' ${made.base_url}/v1/organization/projects/${made.project_id}/api_keys -H "Authorization: Bearer ${adminKey}" -H 'Content-Type: application/json' -H "Idempotency-Key: $(date +%s%N)" -d '{"name":"my key"}'

Send a message:
  curl -w '\\n' ${made.base_url}/v1/messages -H "Authorization: Bearer ${projectKey}" -H 'Content-Type: application/json' -d '{"model":"${model}","max_tokens":200,"messages":[{"role":"user","content":"Hello"}]}'

Stream a message:
  curl -N ${made.base_url}/v1/messages -H "Authorization: Bearer ${projectKey}" -H 'Content-Type: application/json' -d '{"model":"${model}","max_tokens":200,"stream":true,"messages":[{"role":"user","content":"Hello"}]}'

Models: ${[model, ...others].join(', ')}. MODELS_FILE declares others.
Ctrl+C stops it; ${events}. README.md goes on from here.

`;
};
