import type { z } from 'zod';
import { type Document, Kind } from '../../json/document.ts';
import { nameTable } from '../../json/names.ts';

export type Check = (tape: Document, entry: number) => boolean;
type Checks = readonly z.core.$ZodCheck[] | undefined;

/** Whether zod accepts a value, asked of the tape. Where it says no, zod has the last word. */
export const conforms = (schema: z.core.$ZodType): Check => {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    // Whether a member may be absent is a question of its object.
    case 'optional':
      return conforms(def.innerType);
    case 'nullable':
      return either(isOf(Kind.null), conforms(def.innerType));
    case 'union':
      return def.options.map(conforms).reduce(either);
    case 'boolean':
      return isOf(Kind.true, Kind.false);
    case 'unknown':
      // What is refined is refused unless it is null.
      return def.checks === undefined ? () => true : isOf(Kind.null);
    case 'string':
      return isText(limitsOf(def.checks));
    case 'number':
      return isNumber('format' in def, limitsOf(def.checks));
    case 'array':
      return isList(conforms(def.element), limitsOf(def.checks));
    case 'object':
      return isObject(def.shape);
    default:
      throw new Error(`No check for the schema ${def.type}.`);
  }
};

const isOf =
  (kind: number, other = kind): Check =>
  (tape, entry) => {
    const given = tape.kind(entry);
    return given === kind || given === other;
  };

const either =
  (one: Check, other: Check): Check =>
  (tape, entry) =>
    one(tape, entry) || other(tape, entry);

interface Limits {
  readonly least: number;
  readonly most: number;
}

const limitsOf = (checks: Checks = []): Limits => {
  let [least, most] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const { _zod } of checks) {
    const def = _zod.def as z.core.$ZodChecks['_zod']['def'];
    if (def.check === 'min_length') least = def.minimum;
    else if (def.check === 'max_length') most = def.maximum;
    else if (def.check === 'greater_than' && def.inclusive) least = Number(def.value);
    else if (def.check === 'less_than' && def.inclusive) most = Number(def.value);
    else throw new Error(`No check for ${def.check}.`);
  }
  return { least, most };
};

const isText =
  ({ least, most }: Limits): Check =>
  (tape, entry) => {
    if (tape.kind(entry) !== Kind.string) return false;
    const bytes = tape.textBytes(entry);
    if (bytes <= most && least <= 1) return bytes >= least;
    const { length } = tape.text(entry);
    return length >= least && length <= most;
  };

const isNumber =
  (isWhole: boolean, { least, most }: Limits): Check =>
  (tape, entry) => {
    if (tape.kind(entry) !== Kind.number) return false;
    const value = tape.value(entry) as number;
    return value >= least && value <= most && (!isWhole || Number.isSafeInteger(value));
  };

const isList =
  (isItem: Check, { least, most }: Limits): Check =>
  (tape, entry) => {
    if (tape.kind(entry) !== Kind.array) return false;
    const end = tape.next(entry);
    let items = 0;
    for (let at = entry + 1; at < end; at = tape.next(at), items++) if (!isItem(tape, at)) return false;
    return items >= least && items <= most;
  };

const isObject = (shape: Readonly<Record<string, z.core.$ZodType>>): Check => {
  const members = Object.entries(shape).map(([name, schema]) => {
    const isNeeded = schema._zod.optin !== 'optional';
    return [name, { is: conforms(schema), isNeeded }] as const;
  });
  const memberAt = nameTable(Object.fromEntries(members));
  const needed = members.filter(([, { isNeeded }]) => isNeeded).length;
  return (tape, entry) => {
    if (tape.kind(entry) !== Kind.object) return false;
    const end = tape.next(entry);
    let met = 0;
    for (let at = entry + 1; at < end; at = tape.next(at + 1)) {
      const member = memberAt(tape, at);
      if (member === undefined) continue;
      if (!member.is(tape, at + 1)) return false;
      if (member.isNeeded) met++;
    }
    return met === needed;
  };
};
