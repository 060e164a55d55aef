import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { z } from 'zod';
import { projections } from '../../../projections/all.ts';
import { limitsDir, savedWindows, tiersOf } from '../../app/limits.ts';
import { type Millis, systemClock } from '../../clock.ts';
import { type Config, readConfig } from '../../config/config.ts';
import { inWords } from '../../config/file-fault.ts';
import { whose } from '../../domain/streams.ts';
import type { RowReader } from '../../kernel/rows/rows.ts';
import { knownLogId } from '../../kernel/store/log-id.ts';
import { type EventStore, StoreRefuses } from '../../kernel/store/store.ts';
import { Failure } from '../../process/failure.ts';
import { version } from '../../version.ts';
import { withExamples } from '../examples.ts';
import { type CurrentRows, currentRows, newestEvent, onLog } from '../operator.ts';
import { askServer, messageOf } from '../server/ask-server.ts';
import { type AskedServer, asking, whichServer } from '../server/which-server.ts';
import { formatOf, jsonOf, listing, type Output, type Shown, show, timeText } from '../table/listing.ts';
import { printable, type Terminal } from '../terminal.ts';
import { line, modelLines, type UpstreamHealth, upstreamHealth } from './status-models.ts';

const help = `
Exit status: 0 where the gateway is ready, 1 where it is not or does not answer.
What is known without it is shown all the same. Store, lists and windows are
those of this environment. With a project key (--key, PROJECT_API_KEY, or
without --url that of DATA_DIR/first-run.json) the models are those that the
gateway serves; without one they are those of this environment, and with
--url they are left out.

Examples:
  weir status
  PROJECT_API_KEY=gwp_… weir status
  weir status --url https://gateway.example --json`;

const longestWaitMs = 5_000;
const mostCounted = 1_000;

const folded = (lines: readonly Shown[]): Shown[] => {
  const current = lines.filter(({ part, state }) => part === 'list' && state === 'current');
  const sum = line('lists', 'all', 'current', `${current.length} of them`);
  return lines.flatMap((each) => (current.includes(each) ? (each === current[0] ? [sum] : []) : [each]));
};

export const statusCommand = (terminal: Terminal): Command =>
  asking(withExamples(listing(new Command('status')), help), 'a project key')
    .description('Show on one screen how the gateway, its store, its lists, its windows and its models do')
    .action(async (options: Output & AskedServer) => {
      formatOf(options);
      const config = readConfig(terminal.env);
      const { url, key } = await whichServer(terminal, options, 'a project key');
      const isJson = jsonOf(terminal, options) !== null;
      const utc = isJson ? true : options.utc;
      const gateway = await ask(url, utc);
      const asked = {
        url,
        isNamed: options.url !== undefined,
        key,
        answers: gateway.state !== 'no answer',
        upstreams: gateway.upstreams,
      };
      const lines: Shown[] = [
        line('weir', version, '', `this command, with Node ${process.versions.node}`),
        line('gateway', url, gateway.state, gateway.detail),
        ...(await ofStore(terminal, config.EVENTSTORE_URL === undefined ? 'embedded' : 'cluster', utc)),
        ...(await modelLines(asked, { config, env: terminal.env, utc })),
      ];
      show(terminal, isJson ? lines : folded(lines), options);
      if (gateway.state !== 'ready') throw new Failure(`The gateway at ${url} is not ready: ${gateway.detail}`);
    });

const readyAnswer = z.object({
  status: z.literal('ok'),
  age_ms: z.number().nullable().optional(),
  upstreams: upstreamHealth.optional(),
});

interface Asked {
  readonly state: 'ready' | 'not ready' | 'no answer';
  readonly detail: string;
  readonly upstreams: UpstreamHealth;
}

const ask = async (url: string, utc: true | undefined): Promise<Asked> => {
  const notReady = (detail: string): Asked => ({ state: 'not ready', detail: printable(detail), upstreams: {} });
  try {
    const { status, body, certificateEnds } = await askServer(`${url}/v1/ready?verbose`, undefined, longestWaitMs);
    if (status !== 200) return notReady(messageOf(body) ?? `it answers ${status}`);
    const { success, data } = readyAnswer.safeParse(body);
    if (!success) return notReady('it answers, and not as Weir does');
    const { age_ms: age, upstreams = {} } = data;
    const says = [
      ...(age == null ? [] : [`knows all that happened until ${age} ms ago`]),
      ...(certificateEnds === null ? [] : [aboutCertificate(certificateEnds, utc)]),
    ];
    return { state: 'ready', detail: says.join('; '), upstreams };
  } catch (error) {
    const detail = `${(error as Error).message}. Is it running? weir serve starts it`;
    return { state: 'no answer', detail, upstreams: {} };
  }
};

const aboutCertificate = (ends: Millis, utc: true | undefined): string =>
  `its certificate ${ends < systemClock.wall() ? 'expired' : 'expires'} at ${timeText(ends, utc)}`;

const ofStore = async (terminal: Terminal, name: string, utc: true | undefined): Promise<Shown[]> => {
  try {
    return await onLog(terminal, async ({ store }, config) => {
      const newest = await newestEvent(store);
      const detail = newest
        ? `newest event: ${newest.type}, ${timeText(newest.metadata.at, utc)}, at ${newest.position}`
        : 'empty';
      const current = await currentRows(config, store);
      try {
        const denied = await deniedBy(store);
        return [
          denied === undefined ? line('store', name, 'there', detail) : line('store', name, 'read only', denied),
          ...(await ofProjections(store, current)),
          ...(await ofWindows(config, store, current.rows)),
        ];
      } finally {
        await current.close();
      }
    });
  } catch (error) {
    return [line('store', name, 'away', printable(inWords(error as Error)))];
  }
};

/** The reason if the store can be read but not written. */
const deniedBy = async (store: EventStore): Promise<string | undefined> => {
  try {
    await store.proveRights();
    return undefined;
  } catch (error) {
    if (error instanceof StoreRefuses) return error.message;
    throw error;
  }
};

const ofProjections = async (store: EventStore, current: CurrentRows): Promise<Shown[]> => {
  if (!current.isServed) return [line('lists', 'all', 'current', 'no gateway keeps them: made up to date for this')];
  const lines: Shown[] = [];
  for (const { name, categories } of projections) {
    const behind = await eventsAfter(store, current.placeOf(name), new Set(categories));
    const many = behind > mostCounted ? `more than ${mostCounted}` : String(behind);
    lines.push(line('list', name, behind === 0 ? 'current' : 'behind', behind === 0 ? '' : `${many} events behind`));
  }
  return lines;
};

const eventsAfter = async (
  store: EventStore,
  place: bigint | null,
  categories: ReadonlySet<string>,
): Promise<number> => {
  let count = 0;
  const from = place ?? 'start';
  for await (const event of store.readAll({ from, direction: 'forwards', limit: Number.MAX_SAFE_INTEGER })) {
    if (place !== null && event.position <= place) continue;
    if (!categories.has(event.stream.slice(0, event.stream.indexOf('-'))) || whose(event) !== 'ours') continue;
    count += 1;
    if (count > mostCounted) break;
  }
  return count;
};

const ofWindows = async (config: Config, store: EventStore, models: RowReader): Promise<Shown[]> => {
  if (!existsSync(limitsDir(config))) return [line('windows', 'all', 'none', 'no gateway has saved any here')];
  const { table: tiers } = await tiersOf(config);
  const saved = await savedWindows({
    config,
    models,
    tiers,
    clock: systemClock,
    logId: (await knownLogId(store)) ?? '',
  });
  return Object.entries(saved).map(([family, found]) => {
    if (found === null) return line('windows', family, 'none');
    if (found.refused > 0) return line('windows', family, 'damaged', `${found.refused} parts are refused`);
    return line('windows', family, 'saved', `${found.records} records`);
  });
};
