import { ExactNumber } from '../../../json/exact-number.ts';
import { integerBetween, type Random } from '../seed.ts';

type Schema = Readonly<Record<string, unknown>>;
type Place = readonly string[];

/** `place` is a path in the schema. */
export class SchemaRefusal extends Error {
  readonly place: Place;
  constructor(place: Place, message = `A simulated model makes up no value for \`${place.at(-1) ?? 'schema'}\`.`) {
    super(message);
    this.place = place;
  }
}

/** Keywords that a made-up value might break; unknown ones demand nothing. */
const unmet =
  /^(not|if|allOf|oneOf|pattern(Properties)?|propertyNames|(min|max|unevaluated)Properties|depend.+|contains|(prefix|unevaluated)Items|uniqueItems|multipleOf|\$(dynamic|recursive)Ref)$/;
const met =
  /^(\$ref|anyOf|const|enum|properties|required|additionalProperties|items|format|(min|max)(Items|Length|imum)|exclusiveM(in|ax)imum)$/;

/** Bounds the work on a client's schema to some milliseconds. */
const budget = 5_000;
/** Deeper levels have only required members and the last branch, often null, so that recursive schemas end. */
const bare = 4;
const deepest = 40;

const words = ['alpha', 'brook', 'cedar', 'delta', 'ember', 'fjord', 'grove', 'heron'];
/** Of example.com: nothing made up here reaches anyone. */
const formats: ReadonlyMap<unknown, string> = new Map([
  ['date', '2031-05-17'],
  ['date-time', '2031-05-17T12:30:00Z'],
  ['email', 'heron@example.com'],
  ['uri', 'https://example.com/heron'],
  ['uuid', '5f0c5a9e-3b1d-4c5e-8f7a-2d9b6e4c1a30'],
]);

const numberOf = (value: unknown, absent: number): number =>
  typeof value === 'number' || value instanceof ExactNumber ? Number(value) : absent;
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isRecord = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
const typesOf = (value: unknown): readonly string[] => {
  const number = numberOf(value, Number.NaN);
  if (!Number.isNaN(number)) return Number.isInteger(number) ? ['integer', 'number'] : ['number'];
  return [value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value];
};

/** Prefers a small whole number; undefined if none is within the bounds. */
const numberWithin = (schema: Schema, isWhole: boolean, random: Random): number | undefined => {
  const [least, above] = [numberOf(schema.minimum, -Infinity), numberOf(schema.exclusiveMinimum, -Infinity)];
  const [most, below] = [numberOf(schema.maximum, Infinity), numberOf(schema.exclusiveMaximum, Infinity)];
  const from = Math.max(least, above, Math.min(0, most - 100, below - 100));
  const to = Math.min(most, below, Math.max(100, from + 100));
  const whole = Math.ceil(from);
  const tried = [integerBetween(random, whole, Math.floor(to)), whole, whole + 1, from / 2 + to / 2, from];
  return tried.find((n) => n > above && n <= most && n < below && (!isWhole || Number.isInteger(n)));
};

class Sampler {
  readonly #root: unknown;
  readonly #random: Random;
  #left = budget;

  constructor(root: unknown, random: Random) {
    this.#root = root;
    this.#random = random;
  }

  #spend(place: Place, size = 0): void {
    this.#left -= 1 + size / 64;
    if (this.#left < 0) throw new SchemaRefusal(place, 'The schema is too large for a simulated model.');
  }

  sample(schema: unknown, place: Place, depth: number): unknown {
    if (schema === true) return words[0];
    if (!isRecord(schema) || depth > deepest) throw new SchemaRefusal(place);
    const names = Object.keys(schema);
    this.#spend(place, names.length);
    const whole = ['$ref', 'anyOf', 'const', 'enum'].find((name) => schema[name] !== undefined);
    const hindrance = names.find((name) => unmet.test(name) || (whole && name !== whole && met.test(name)));
    if (hindrance !== undefined) throw new SchemaRefusal([...place, hindrance]);
    const types = schema.type === undefined ? [] : [schema.type].flat();
    const fits = (value: unknown) => types.length === 0 || typesOf(value).some((type) => types.includes(type));
    const value = whole
      ? this.#choose(whole, schema[whole], [...place, whole], depth, fits)
      : this.#make(types.find((type) => type !== 'null') ?? types[0], schema, place, depth);
    if (value === undefined || !fits(value)) throw new SchemaRefusal([...place, whole ?? 'type']);
    return value;
  }

  #choose(name: string, said: unknown, at: Place, depth: number, fits: (value: unknown) => boolean): unknown {
    if (name === 'const') return said;
    if (name === '$ref') return this.#follow(String(said), at, depth);
    const options = listOf(said);
    this.#spend(at, options.length);
    if (name === 'enum') return options.find(fits);
    if (options.length === 0) throw new SchemaRefusal(at);
    const index = depth < bare ? 0 : options.length - 1;
    return this.sample(options[index], [...at, String(index)], depth + 1);
  }

  #follow(reference: string, at: Place, depth: number): unknown {
    this.#spend(at, reference.length);
    const [start, ...path] = reference.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
    const target = path.reduce<unknown>(
      (within, step) => (isRecord(within) && Object.hasOwn(within, step) ? within[step] : undefined),
      this.#root,
    );
    if (start !== '#' || target === undefined) throw new SchemaRefusal(at);
    return this.sample(target, path, depth + 1);
  }

  #make(type: unknown, schema: Schema, place: Place, depth: number): unknown {
    if (type === 'object' || (type === undefined && (schema.properties || schema.required)))
      return this.#object(schema, place, depth);
    if (type === 'array') return this.#array(schema, place, depth);
    if (type === 'string' || type === undefined) return this.#text(schema, place);
    if (type === 'number' || type === 'integer') return numberWithin(schema, type === 'integer', this.#random);
    return type === 'boolean' ? this.#random() < 0.5 : type === 'null' ? null : undefined;
  }

  #object(schema: Schema, place: Place, depth: number): object {
    const parts = isRecord(schema.properties) ? schema.properties : {};
    const demanded = new Set(listOf(schema.required).map(String));
    const wanted = new Set([...demanded, ...(depth > bare ? [] : Object.keys(parts))]);
    this.#spend(place, wanted.size);
    const own = new Map<string, unknown>();
    for (const name of wanted) {
      if (!Object.hasOwn(parts, name)) throw new SchemaRefusal([...place, 'required']);
      try {
        own.set(name, this.sample(parts[name], [...place, 'properties', name], depth + 1));
      } catch (error) {
        // An optional member that cannot be made is left out.
        if (!(error instanceof SchemaRefusal) || demanded.has(name)) throw error;
      }
    }
    return Object.fromEntries(own);
  }

  #array(schema: Schema, place: Place, depth: number): readonly unknown[] {
    const [least, most] = [numberOf(schema.minItems, 0), numberOf(schema.maxItems, Infinity)];
    if (least > most) throw new SchemaRefusal([...place, 'minItems']);
    const value: unknown[] = [];
    for (const length = Math.max(least, depth > bare || most < 1 ? 0 : 1); value.length < length; this.#spend(place))
      value.push(this.sample(schema.items ?? true, [...place, 'items'], depth + 1));
    return value;
  }

  #text(schema: Schema, place: Place): string {
    const [least, most] = [numberOf(schema.minLength, 0), numberOf(schema.maxLength, Infinity)];
    this.#spend(place, Math.max(0, least));
    const word = words[integerBetween(this.#random, 0, words.length - 1)]!;
    const text = formats.get(schema.format) ?? word.padEnd(least, ` ${word}`).slice(0, most);
    if (text.length >= least && text.length <= most) return text;
    throw new SchemaRefusal([...place, schema.format ? 'format' : 'minLength']);
  }
}

/** Deterministic by `random`. @throws SchemaRefusal for an unsatisfiable or unsupported schema */
export const sampleSchema = (root: unknown, random: Random): unknown => new Sampler(root, random).sample(root, [], 0);
