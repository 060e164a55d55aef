import type { SignalName, Signals } from '../../telemetry.ts';

/** @param repeated how often the same was suppressed in the last minute */
export type Tell = (name: SignalName, signal: object, repeated?: number) => void;

interface Repeats {
  readonly name: SignalName;
  last: object;
  count: number;
}

const foldMs = 60_000;
/** Different signals in one minute; beyond that, signals are told apart by name alone. */
const mostKept = 1_000;

/** Events that operators count, and progress, which has its own interval. */
const neverFolded: ReadonlySet<SignalName> = new Set<SignalName>([
  'command.recorded',
  'prices.declared',
  'models.reloaded',
  'models.refused',
  'models.alias_hidden',
  'projection.catching_up',
]);

/** Signals are the same if their texts are; numbers and the request do not count. */
const keyOf = (name: SignalName, signal: object): string => {
  let key: string = name;
  for (const [field, value] of Object.entries(signal)) {
    if (field === 'requestId') continue;
    if (typeof value === 'string') key += `\n${value}`;
    else if (value instanceof Error) key += `\n${value.name} ${value.message}`;
  }
  return key;
};

/** Passes a signal on at once, and repeats within a minute together at its end. */
export const folding = (
  tell: Tell,
  later: (ms: number, then: () => void) => void = (ms, then) => void setTimeout(then, ms).unref(),
) => {
  let told = new Map<string, Repeats>();
  let isWaiting = false;
  const flush = (): void => {
    isWaiting = false;
    const over = told;
    told = new Map();
    for (const { name, last, count } of over.values()) if (count > 0) tell(name, last, count);
  };
  return {
    said<N extends SignalName>(name: N, signal: Signals[N]): void {
      if (neverFolded.has(name)) {
        tell(name, signal);
        return;
      }
      if (!isWaiting) {
        isWaiting = true;
        later(foldMs, flush);
      }
      let key = keyOf(name, signal);
      if (told.size >= mostKept && !told.has(key)) key = name;
      const before = told.get(key);
      if (before === undefined) {
        told.set(key, { name, last: signal, count: 0 });
        tell(name, signal);
      } else {
        before.last = signal;
        before.count += 1;
      }
    },
    flush,
  };
};
