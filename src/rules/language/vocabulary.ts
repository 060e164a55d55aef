import { dateGetters } from './zoned-getters.ts';

// The names of the rule language (contract H); everything else is refused.

export const operators: ReadonlySet<string> = new Set([
  ...['&&', '||', '!_', '==', '!=', '<', '<=', '>', '>=', '+', '-', '-_', '*', '/', '%', 'in', '?:'],
  ...['list', 'map'],
]);

export const functions: ReadonlySet<string> = new Set(['has', 'size', 'int', 'double', 'string', 'timestamp', 'clamp']);

export const patternMethods: ReadonlySet<string> = new Set(['matches', 'countMatches']);

export const methods: ReadonlySet<string> = new Set([
  ...['size', 'contains', 'startsWith', 'endsWith', 'lowerAscii', 'upperAscii', 'trim', 'indexOf', 'substring'],
  ...['containsAny', ...patternMethods, ...dateGetters],
]);

/**
 * The internal name of a method: the engine's `matches` uses the host's backtracking regex, its case functions change non-ASCII
 * letters, and its dates use the host's time zone. The engine does not allow overriding, so calls are renamed.
 */
export const runningName = (method: string, args: number): string => {
  if (dateGetters.has(method) && (args > 0 || method === 'getDayOfYear')) return `zoned_${method}`;
  return renamed[method] ?? method;
};

const renamed: Readonly<Record<string, string>> = {
  matches: 're2_matches',
  countMatches: 're2_countMatches',
  lowerAscii: 'ascii_lower',
  upperAscii: 'ascii_upper',
};

/** Replaces internal names in the engine's messages. */
export const inAuthorsWords = (message: string): string => {
  let text = message.replace(/\bzoned_(?=get)/g, '').replace(/\bPattern\b/g, 'string');
  for (const [name, running] of Object.entries(renamed)) text = text.replaceAll(running, name);
  return text;
};
