import { dateGetters } from './zoned-getters.ts';

/** The words of the rule language (contract H): what is not here is refused, whatever the engine knows. */

export const operators: ReadonlySet<string> = new Set([
  ...['&&', '||', '!_', '==', '!=', '<', '<=', '>', '>=', '+', '-', '-_', '*', '/', '%', 'in', '?:'],
  ...['list', 'map'],
]);

/** Global functions; `has` is a macro. Argument counts and types are the type checker's to judge. */
export const functions: ReadonlySet<string> = new Set(['has', 'size', 'int', 'double', 'string', 'timestamp', 'clamp']);

export const patternMethods: ReadonlySet<string> = new Set(['matches', 'countMatches']);

export const methods: ReadonlySet<string> = new Set([
  ...['size', 'contains', 'startsWith', 'endsWith', 'lowerAscii', 'upperAscii', 'trim', 'indexOf', 'substring'],
  ...['containsAny', ...patternMethods, ...dateGetters],
]);

/**
 * Methods that authors write by their CEL names and that run under another: the engine's own `matches` uses the
 * backtracking host regex, its case functions change letters outside ASCII and with them the length, and its dates
 * depend on the host's time zone. Overriding a built-in is refused by the engine; a renamed call reaches only what
 * environment.ts registers under that name.
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

/** A message of the engine with the names that authors know. */
export const inAuthorsWords = (message: string): string => {
  let text = message.replace(/\bzoned_(?=get)/g, '').replace(/\bPattern\b/g, 'string');
  for (const [name, running] of Object.entries(renamed)) text = text.replaceAll(running, name);
  return text;
};
