import { type DestinationStream, destination, type Level, type Logger, pino } from 'pino';
import { atMost } from '../../clock.ts';
import { errorText } from '../../error-text.ts';
import { onSignal, type SignalName, type Signals } from '../../telemetry.ts';
import type { Finished } from '../requests/observation.ts';
import { folding } from './folding.ts';
import { pretty } from './pretty.ts';

export interface LogOptions {
  readonly level: Level | 'silent';
  readonly format: 'pretty' | 'json';
  readonly isColored?: boolean;
  /** Share of the requests that is logged, 0 to 1. */
  readonly accessShare: number;
  readonly fd?: number;
}

export interface Log {
  info(fields: object, message: string): void;
  /** Undefined if requests are not logged. */
  readonly access: ((request: Finished) => void) | undefined;
  /** Lines that were dropped because the reader is too slow. */
  readonly dropped: number;
  close(): Promise<'written' | 'stuck'>;
}

const standardError = 2;
/** Characters that wait for a slow reader; further lines are dropped. */
const mostWaiting = 16 * 1024 * 1024;
const lastMs = 1_000;
/** How long unwritten lines wait, for instance on a full disk, if no new line comes earlier. */
const againMs = 1_000;

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
  'models.alias_hidden',
  'tiers.refused',
  'certificate.refused',
  'certificate.expired',
  'usage.recovered',
  'usage.missing',
  'upstream.failed',
  'upstream.opened',
  'upstream.unasked',
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

const accessLine = ({ requestId, keyId, method, target, status, durationMs, model, asked }: Finished): object => ({
  request_id: requestId,
  key_id: keyId,
  // A method without a route is client input.
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

/** Logs every signal. Never blocks. */
export const openLog = ({ level, format, isColored = false, accessShare, fd = standardError }: LogOptions): Log => {
  // Without a least length `flush` would not write what waits.
  const out = destination({ dest: fd, sync: false, maxLength: mostWaiting, minLength: 1 });
  let dropped = 0;
  out.on('drop', () => {
    dropped += 1;
  });
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
      const closed = new Promise<void>((resolve) => out.once('close', resolve));
      out.end();
      const isWritten = await atMost(lastMs, closed);
      clearTimeout(again);
      // Node would flush it at exit and block.
      if (!isWritten) out.destroy();
      return isWritten ? 'written' : 'stuck';
    },
  };
};
