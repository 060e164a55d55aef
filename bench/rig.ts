import { join } from 'node:path';
import type { AppendOrder } from './gen/appender.ts';
import type { Order } from './gen/main.ts';
import type { Sample } from './gen/sample.ts';
import { type Child, startChild } from './machine/child.ts';
import type { Pinning } from './machine/pin.ts';
import type { PutOrder } from './peers/lmdb-puts.ts';
import { startWeir } from './peers/weir.ts';
import { type HttpScenario, hello, messages, models } from './scenarios/http.ts';
import type { ContenderName } from './scenarios/names.ts';

export interface RigOptions {
  readonly contenders: readonly ContenderName[];
  readonly connections: number;
  readonly pinning: Pinning;
  /** An empty folder for all data. */
  readonly dir: string;
}

export interface Span {
  readonly rampMs: number;
  readonly seconds: number;
}

export interface Rig {
  measure(contender: ContenderName, span: Span): Promise<Sample>;
}

/** Appends and puts in flight at once. */
export const inFlight = 100;
/** Bytes of an event's data, and of a put's value (eventstore.md 3, the bar). */
export const eventBytes = 268;

type Measure = (span: Span) => Promise<Sample>;

const marginMs = 20_000;
const within = ({ rampMs, seconds }: Span): number => rampMs + seconds * 1000 + marginMs;

/**
 * Starts every server and load that the contenders need, each once for the whole run.
 * @param undo takes what ends them, also when a later one does not start
 */
export const startRig = async (options: RigOptions, undo: (() => Promise<void>)[]): Promise<Rig> => {
  const { contenders, connections, pinning, dir } = options;
  const ways = new Map<ContenderName, Measure>();
  const start = async (name: string, entry: URL, core: number | null): Promise<Child> => {
    const child = await startChild(name, entry, core);
    undo.push(child.end);
    return child;
  };

  const addHttp = async (): Promise<void> => {
    const generator = await start('The generator', new URL('./gen/main.ts', import.meta.url), pinning.generator);
    const add = (
      name: ContenderName,
      { request, expected }: HttpScenario,
      { pid, port }: { readonly pid: number; readonly port: number },
      keys: readonly string[],
    ) => {
      const load = { pid, port, requests: keys.map(request), expected, connections };
      ways.set(name, (span) => generator.ask<Sample>({ ...load, ...span } satisfies Order, within(span)));
    };
    const bare = await start('The bare server', new URL('./peers/uws-hello.ts', import.meta.url), pinning.server);
    const { port } = await bare.ask<{ port: number }>({});
    add('hello', hello, { pid: bare.pid, port }, ['']);
    if (!contenders.includes('models') && !contenders.includes('messages')) return;
    const weir = await startWeir(join(dir, 'weir'), pinning.server);
    undo.push(weir.end);
    for (const [name, scenario] of [
      ['models', models],
      ['messages', messages],
    ] as const) {
      add(name, scenario, weir, weir.projectKeys);
      const measure = ways.get(name)!;
      ways.set(name, (span) =>
        measure(span).catch((error: Error) => {
          throw new Error(weir.lost() ?? error.message);
        }),
      );
    }
  };

  const addStore = async (): Promise<void> => {
    const store = await start(
      'The embedded store',
      new URL('./peers/embedded-store.ts', import.meta.url),
      pinning.server,
    );
    const { endpoint } = await store.ask<{ endpoint: string }>({ dir: join(dir, 'store') });
    const appender = await start(
      'The client of the store',
      new URL('./gen/appender.ts', import.meta.url),
      pinning.generator,
    );
    const appends = { pid: store.pid, endpoint, inFlight, eventBytes };
    ways.set('appends', (span) => appender.ask<Sample>({ ...appends, ...span } satisfies AppendOrder, within(span)));
    const lmdb = await start('LMDB', new URL('./peers/lmdb-puts.ts', import.meta.url), pinning.server);
    const puts = { file: join(dir, 'puts.mdb'), inFlight, valueBytes: eventBytes };
    ways.set('puts', (span) => lmdb.ask<Sample>({ ...puts, ...span } satisfies PutOrder, within(span)));
  };

  if (contenders.includes('hello')) await addHttp();
  if (contenders.includes('puts')) await addStore();
  return { measure: (contender, span) => ways.get(contender)!(span) };
};
