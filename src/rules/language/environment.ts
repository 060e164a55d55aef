import { Environment } from '@marcbachmann/cel-js';
import { maxCallArguments, maxDepth, maxListItems, maxNodes } from './limits.ts';
import { Pattern } from './patterns/pattern.ts';
import { clamp, containsAny, lowerAscii, upperAscii } from './text-functions.ts';
import { type Direction, messageType, roots, rootsOf, toolCallType } from './variables.ts';
import { dayOfYear, zonedGetters } from './zoned-getters.ts';

// Otherwise the engine treats every function as asynchronous.
const sync = { async: false } as const;

const environment = (direction: Direction): Environment => {
  const cel = new Environment({
    limits: {
      maxAstNodes: maxNodes,
      maxDepth,
      maxListElements: maxListItems,
      maxMapEntries: maxListItems,
      maxCallArguments,
    },
  });
  cel.registerType('Pattern', Pattern);
  for (const { name, fields, Record } of [messageType, toolCallType]) cel.registerType(name, { ctor: Record, fields });
  for (const root of rootsOf(direction)) {
    const { name, fields, Record } = roots[root];
    cel.registerType(name, { ctor: Record, fields });
    cel.registerVariable(root, name);
  }
  for (const [signature, get] of zonedGetters) cel.registerFunction(signature, get, sync);
  return cel
    .registerVariable('now', 'google.protobuf.Timestamp')
    .registerFunction('string.re2_matches(Pattern): bool', (text: string, p: Pattern) => p.test(text), sync)
    .registerFunction('string.re2_countMatches(Pattern): int', (text: string, p: Pattern) => p.count(text), sync)
    .registerFunction('string.ascii_lower(): string', lowerAscii, sync)
    .registerFunction('string.ascii_upper(): string', upperAscii, sync)
    .registerFunction('string.containsAny(list<string>): bool', containsAny, sync)
    .registerFunction('google.protobuf.Timestamp.zoned_getDayOfYear(): int', dayOfYear, sync)
    .registerFunction('clamp(double): double', clamp, sync);
};

/** Type checker and engine by direction; stateless between calls. */
export const environments: Readonly<Record<Direction, Environment>> = {
  request: environment('request'),
  response: environment('response'),
};
