import type { SignalName, Signals } from '../../telemetry.ts';

/** A signal to be logged. @param repeated how often the same has been said in the last minute, if it has */
export type Tell = (name: SignalName, signal: object, repeated?: number) => void;

interface Repeats {
  readonly name: SignalName;
  last: object;
  count: number;
}

const foldMs = 60_000;
/** Different things in one minute; what goes beyond is told by its name alone. */
const mostKept = 1_000;

/** Deeds, not states: each of them is one of its own, and operators count them. And progress, which says how seldom it is told. */
const neverFolded: ReadonlySet<SignalName> = new Set<SignalName>([
  'command.recorded',
  'prices.declared',
  'models.reloaded',
  'models.refused',
  'projection.catching_up',
]);

/** What makes two signals the same: their words, not their numbers, and not the request in which it was noticed. */
const keyOf = (name: SignalName, signal: object): string => {
  let key: string = name;
  for (const [field, value] of Object.entries(signal)) {
    if (field === 'requestId') continue;
    if (typeof value === 'string') key += `\n${value}`;
    else if (value instanceof Error) key += `\n${value.name} ${value.message}`;
  }
  return key;
};

/**
 * Tells a signal at once, and what is the same a minute later, together: what happens once a second is a line a minute.
 * @param later sets a timer that keeps no process alive
 */
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
    /** Tells what there is to be told. */
    flush,
  };
};
