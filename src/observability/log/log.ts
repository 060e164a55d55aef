import { type DestinationStream, destination, type Level, type Logger, pino } from 'pino';
import { errorText } from '../../error-text.ts';
import { onSignal, type SignalName, type Signals } from '../../telemetry.ts';
import type { Finished } from '../requests/observation.ts';
import { folding } from './folding.ts';
import { pretty } from './pretty.ts';

export interface LogOptions {
  readonly level: Level | 'silent';
  /** For people, or an object a line for machines. */
  readonly format: 'pretty' | 'json';
  /** Whether whoever reads it knows colors. */
  readonly isColored?: boolean;
  /** Which part of the requests is written down: 0 none, 1 all. */
  readonly accessShare: number;
  /** Default: standard error. */
  readonly fd?: number;
}

/** What Weir says of itself while it serves. */
export interface Log {
  /** @param fields that are no secret */
  info(fields: object, message: string): void;
  /** Writes a request down, by lot where not all of them are; undefined where none is. */
  readonly access: ((request: Finished) => void) | undefined;
  /** Lines that were thrown away because the ones before have not been read. */
  readonly dropped: number;
  /** Ends it. @returns whether all of it has been read, or may never be */
  close(): Promise<'written' | 'stuck'>;
}

const standardError = 2;
/** Characters that wait for a slow reader; what comes then is thrown away. */
const mostWaiting = 16 * 1024 * 1024;
/** Longest wait for the last lines to be taken. */
const lastMs = 1_000;
/** How long what could not be written waits, on a full disk for instance, where no new line tries it earlier. */
const againMs = 1_000;

/** What an operator should look into, although the gateway goes on. */
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
  'policies.unrecorded',
  'projection.rebuilt',
  'limits.trouble',
  'models.refused',
  'tiers.refused',
  'certificate.refused',
  'certificate.expired',
  'usage.recovered',
  'usage.missing',
  'upstream.failed',
  'upstream.opened',
  'traces.unsent',
]);

const isWarning = (name: SignalName, signal: object): boolean =>
  warnings.has(name) || (name === 'limits.restored' && (signal as Signals['limits.restored']).refused.length > 0);

const telling =
  (log: Logger) =>
  (name: SignalName, signal: object, repeated?: number): void => {
    const { error, ...rest } = { error: undefined, ...signal };
    const level = error !== undefined ? 'error' : isWarning(name, rest) ? 'warn' : 'info';
    const counted = repeated === undefined ? rest : { ...rest, repeated };
    log[level](error === undefined ? counted : { ...counted, err: error }, name);
  };

const hundredths = (ms: number): number => Math.round(ms * 100) / 100;

/** A request as the access log has it: ids, names of ours and numbers. What is not known is left out. */
const accessLine = ({ requestId, keyId, method, target, status, durationMs, model, asked }: Finished): object => ({
  request_id: requestId,
  key_id: keyId,
  // A method that is none of the route's is the client's word.
  ...(target !== undefined && { method, route: target.path }),
  status,
  model,
  ...(asked !== undefined && {
    input_tokens: asked.tokens.input + asked.tokens.cacheCreation + asked.tokens.cacheRead,
    output_tokens: asked.tokens.output,
  }),
  ms: hundredths(durationMs),
  ...(asked !== undefined && { upstream_ms: hundredths(asked.durationMs) }),
});

/** Opens the log and listens to every signal. No line waits for its reader. */
export const openLog = ({ level, format, isColored = false, accessShare, fd = standardError }: LogOptions): Log => {
  // With no least length at all it would not write what waits when it is told to.
  const out = destination({ dest: fd, sync: false, maxLength: mostWaiting, minLength: 1 });
  let dropped = 0;
  out.on('drop', () => {
    dropped += 1;
  });
  // A log that cannot be written ends no gateway: what waits is written when it can be.
  let again: NodeJS.Timeout | undefined;
  out.on('error', () => {
    again ??= setTimeout(() => {
      again = undefined;
      out.flush();
    }, againMs).unref();
  });
  const stream: DestinationStream =
    format === 'json' ? out : { write: (line) => void out.write(pretty(line, isColored)) };
  const log = pino({ level, serializers: { err: (error: unknown) => errorText(error) } }, stream);
  const { said, flush } = folding(telling(log));
  const ended = onSignal(said);
  const access = (request: Finished): void => {
    if (accessShare < 1 && Math.random() >= accessShare) return;
    log.info(accessLine(request), 'request');
  };
  return {
    info: (fields, message) => log.info(fields, message),
    access: accessShare > 0 ? access : undefined,
    get dropped() {
      return dropped;
    },
    async close() {
      ended();
      flush();
      let late: NodeJS.Timeout | undefined;
      const stuck = new Promise<'stuck'>((resolve) => {
        late = setTimeout(() => resolve('stuck'), lastMs);
      });
      const written = new Promise<'written'>((resolve) => out.once('close', () => resolve('written')));
      out.end();
      const how = await Promise.race([written, stuck]);
      clearTimeout(late);
      clearTimeout(again);
      // At the exit it would be written to the end, by nobody who could do anything else.
      if (how === 'stuck') out.destroy();
      return how;
    },
  };
};
