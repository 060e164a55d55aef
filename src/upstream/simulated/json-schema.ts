import { ExactNumber } from '../../exact-number.ts';
import { integerBetween, type Random } from '../seed.ts';

type Keywords = Readonly<Record<string, unknown>>;
type Place = readonly string[];

/** Thrown for what a schema demands and no value is made up for; `place` is the path of it in the schema. */
export class SchemaRefusal extends Error {
  readonly place: Place;
  constructor(place: Place, message = `A simulated model makes up no value for \`${place.at(-1) ?? 'schema'}\`.`) {
    super(message);
    this.place = place;
  }
}

/** What a value that is made up without a look at it might break. A keyword that nobody knows demands nothing. */
const unmet =
  /^(not|if|allOf|oneOf|pattern(Properties)?|propertyNames|(min|max|unevaluated)Properties|depend.+|contains|(prefix|unevaluated)Items|multipleOf|\$(dynamic|recursive)Ref)$/;
const met =
  /^(\$ref|anyOf|const|enum|properties|required|additionalProperties|items|uniqueItems|format|(min|max)(Items|Length|imum)|exclusiveM(in|ax)imum)$/;

/** Steps of work on one schema, which comes from a client: some milliseconds at the worst. */
const budget = 5_000;
/** From here on only what is required is made, and of branches the last, often null: so recursive schemas have an end. */
const bare = 4;
const deepest = 40;

const words = ['alpha', 'brook', 'cedar', 'delta', 'ember', 'fjord', 'grove', 'heron'];
/** Of example.com: nothing made up here reaches anyone. */
const formats: ReadonlyMap<unknown, string> = new Map([
  ['date', '2031-05-17'],
  ['time', '12:30:00Z'],
  ['date-time', '2031-05-17T12:30:00Z'],
  ['email', 'heron@example.com'],
  ['uri', 'https://example.com/heron'],
  ['uuid', '5f0c5a9e-3b1d-4c5e-8f7a-2d9b6e4c1a30'],
]);

const numberOf = (value: unknown, absent: number): number =>
  typeof value === 'number' || value instanceof ExactNumber ? Number(value) : absent;
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isRecord = (value: unknown): value is Keywords =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
const isOfType = (value: unknown, type: unknown): boolean => {
  const number = numberOf(value, Number.NaN);
  if (!Number.isNaN(number)) return type === 'number' || (type === 'integer' && Number.isInteger(number));
  return type === (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
};

/**
 * A JSON value that satisfies the schema, the same for the same numbers of `random`.
 * @throws SchemaRefusal where the schema demands more than is looked at here, or more than any value has
 */
export const sampleSchema = (root: unknown, random: Random): unknown => {
  let left = budget;
  const spend = (place: Place, size = 0): void => {
    left -= 1 + size / 64;
    if (left < 0) throw new SchemaRefusal(place, 'The schema is too large for a simulated model.');
  };
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[integerBetween(random, 0, items.length - 1)];

  const sample = (schema: unknown, place: Place, depth: number): unknown => {
    if (schema === true) return words[0];
    if (!isRecord(schema) || depth > deepest) throw new SchemaRefusal(place);
    const keywords = Object.keys(schema);
    spend(place, keywords.length);
    const whole = ['$ref', 'anyOf', 'const', 'enum'].find((keyword) => schema[keyword] !== undefined);
    const hindrance = keywords.find((name) => unmet.test(name) || (whole && name !== whole && met.test(name)));
    if (hindrance !== undefined) throw new SchemaRefusal([...place, hindrance]);
    const types = schema.type === undefined ? [] : [schema.type].flat();
    const fits = (value: unknown) =>
      value !== undefined && (types.length === 0 || types.some((type) => isOfType(value, type)));
    const type =
      types.find((type) => type !== 'null') ??
      types[0] ??
      ((schema.properties ?? schema.required) ? 'object' : 'string');
    const value =
      whole === undefined
        ? make(type, schema, place, depth)
        : choose(whole, schema[whole], [...place, whole], depth, fits);
    if (!fits(value)) throw new SchemaRefusal([...place, whole ?? 'type']);
    return value;
  };

  const attempt = (schema: unknown, place: Place, depth: number): unknown => {
    try {
      return sample(schema, place, depth);
    } catch (error) {
      if (error instanceof SchemaRefusal) return error;
      throw error;
    }
  };

  const choose = (
    keyword: string,
    said: unknown,
    place: Place,
    depth: number,
    fits: (value: unknown) => boolean,
  ): unknown => {
    if (keyword === 'const') return said;
    const options = listOf(said);
    spend(place, keyword === '$ref' ? String(said).length : options.length);
    if (keyword === 'enum') return pick(options.filter(fits));
    if (keyword === 'anyOf') {
      let refusal: SchemaRefusal | null = null;
      const indexes = [...options.keys()];
      for (const index of depth < bare ? indexes : indexes.reverse()) {
        const made = attempt(options[index], [...place, String(index)], depth + 1);
        if (!(made instanceof SchemaRefusal)) return made;
        refusal ??= made;
      }
      throw refusal ?? new SchemaRefusal(place);
    }
    const [start, ...path] = String(said)
      .split('/')
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
    const target = path.reduce<unknown>(
      (at, step) => (isRecord(at) && Object.hasOwn(at, step) ? at[step] : undefined),
      root,
    );
    if (start !== '#' || target === undefined) throw new SchemaRefusal(place);
    return sample(target, path, depth + 1);
  };

  const object = ({ properties, required, additionalProperties = true }: Keywords, place: Place, depth: number) => {
    const parts = isRecord(properties) ? properties : {};
    const value = new Map<string, unknown>();
    for (const name of listOf(required).map(String)) {
      const own = Object.hasOwn(parts, name);
      const at = own ? ['properties', name] : ['additionalProperties'];
      spend(place);
      value.set(name, sample(own ? parts[name] : additionalProperties, [...place, ...at], depth + 1));
    }
    spend(place, Object.keys(parts).length);
    for (const [name, part] of Object.entries(parts)) {
      if (depth > bare || value.has(name) || random() < 0.5) continue;
      const made = attempt(part, place, depth + 1);
      if (!(made instanceof SchemaRefusal)) value.set(name, made);
    }
    return Object.fromEntries(value);
  };

  const array = ({ items = true, minItems, maxItems, uniqueItems }: Keywords, place: Place, depth: number) => {
    const [least, most] = [numberOf(minItems, 0), numberOf(maxItems, Infinity)];
    if (least > most) throw new SchemaRefusal([...place, 'minItems']);
    if (uniqueItems === true && least > 1) throw new SchemaRefusal([...place, 'uniqueItems']);
    const value: unknown[] = [];
    while (value.length < least) {
      spend(place);
      value.push(sample(items, [...place, 'items'], depth + 1));
    }
    if (least > 0 || most < 1 || depth > bare) return value;
    const made = attempt(items, place, depth + 1);
    return made instanceof SchemaRefusal ? [] : [made];
  };

  const string = ({ minLength, maxLength, format }: Keywords, place: Place) => {
    const [least, most] = [numberOf(minLength, 0), numberOf(maxLength, Infinity)];
    spend(place, least);
    const word = pick(words)!;
    const text = formats.get(format) ?? word.padEnd(least, ` ${word}`).slice(0, most);
    if (text.length < least || text.length > most) throw new SchemaRefusal([...place, format ? 'format' : 'minLength']);
    return text;
  };

  const number = (schema: Keywords, place: Place, isWhole: boolean) => {
    const [least, above] = [numberOf(schema.minimum, -Infinity), numberOf(schema.exclusiveMinimum, -Infinity)];
    const [most, below] = [numberOf(schema.maximum, Infinity), numberOf(schema.exclusiveMaximum, Infinity)];
    const from = Math.max(least, above, Math.min(0, most - 100, below - 100));
    const to = Math.min(most, below, Math.max(100, from + 100));
    const mixed = from / 2 + to / 2;
    const tried = [
      integerBetween(random, Math.ceil(from), Math.floor(to)),
      Math.ceil(from),
      Math.ceil(from) + 1,
      Math.floor(to),
      mixed,
      from,
    ];
    const value = tried.find(
      (n) => n >= least && n > above && n <= most && n < below && (!isWhole || Number.isInteger(n)),
    );
    if (value === undefined) throw new SchemaRefusal([...place, 'type']);
    return value;
  };

  const make = (type: unknown, schema: Keywords, place: Place, depth: number): unknown => {
    if (type === 'object') return object(schema, place, depth);
    if (type === 'array') return array(schema, place, depth);
    if (type === 'string') return string(schema, place);
    if (type === 'number' || type === 'integer') return number(schema, place, type === 'integer');
    return type === 'boolean' ? random() < 0.5 : type === 'null' ? null : undefined;
  };
  return sample(root, [], 0);
};
