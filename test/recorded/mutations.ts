import { answers, type RecordedAnswer, requests } from './corpus.ts';
import { type Path, placeholder } from './stage.ts';

/** Bodies that nobody has sent: recorded ones with parts taken out, doubled, put elsewhere, replaced or written in another way. */

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** The same numbers for the same seed (mulberry32). */
const randomOf = (seed: number) => {
  let state = seed >>> 0;
  return (below: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
};
type Random = ReturnType<typeof randomOf>;

const values: readonly Json[] = [
  null,
  true,
  false,
  0,
  1,
  -1,
  1.5,
  40,
  100_000,
  1e21,
  '',
  'x',
  'auto',
  'text',
  'user',
  'é漢😀',
  'r'.repeat(300),
  [],
  {},
  [''],
  [{ type: 'text', text: 'x' }],
  { type: 'text', text: 'x' },
];

interface Place {
  readonly holder: Json[] | { [name: string]: Json };
  readonly name: string;
}

const placesIn = (value: Json, found: Place[] = []): Place[] => {
  if (value === null || typeof value !== 'object') return found;
  for (const name of Object.keys(value)) {
    found.push({ holder: value, name });
    placesIn((value as { [name: string]: Json })[name]!, found);
  }
  return found;
};

const get = ({ holder, name }: Place): Json => (holder as { [name: string]: Json })[name]!;
const set = ({ holder, name }: Place, value: Json): void => {
  (holder as { [name: string]: Json })[name] = value;
};

const mutate = (value: Json, donor: Json, random: Random): void => {
  const places = placesIn(value);
  if (places.length === 0) return;
  const place = places[random(places.length)]!;
  const given = placesIn(donor);
  const { holder, name } = place;
  const kind = random(8);
  if (kind === 0 && Array.isArray(holder)) holder.splice(Number(name), 1);
  else if (kind === 0) delete (holder as { [name: string]: Json })[name];
  else if (kind <= 2) set(place, structuredClone(values[random(values.length)]!));
  else if (kind <= 4 && given.length > 0) {
    const other = given[random(given.length)]!;
    if (Array.isArray(holder) || random(3) === 0) set(place, structuredClone(get(other)));
    else holder[other.name] = structuredClone(get(other));
  } else if (kind === 5 && Array.isArray(holder)) holder.push(structuredClone(get(place)));
  else if (kind === 6 && !Array.isArray(holder)) holder[name.toUpperCase()] = structuredClone(get(place));
  else set(place, structuredClone(get(places[random(places.length)]!)));
};

const escaped = (text: string, random: Random): string =>
  JSON.stringify(text).replaceAll(/[a-zA-Z/]/g, (letter) =>
    random(12) === 0 ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}` : letter,
  );

/** JSON in one of the many ways to write it. */
const written = (value: Json, random: Random, isOdd: boolean): string => {
  const blank = (): string => (isOdd && random(6) === 0 ? [' ', '\n', '\t ', '\r\n'][random(4)]! : '');
  const text = (of: string): string => (isOdd && random(10) === 0 ? escaped(of, random) : JSON.stringify(of));
  const write = (each: Json): string => {
    if (typeof each === 'string') return text(each);
    if (typeof each === 'number' && isOdd && random(8) === 0) return Number.isInteger(each) ? `${each}.0` : `${each}e0`;
    if (each === null || typeof each !== 'object') return JSON.stringify(each);
    if (Array.isArray(each)) return `[${each.map((item) => blank() + write(item) + blank()).join(',')}]`;
    const members = Object.entries(each).map(([name, item]) => `${blank()}${text(name)}${blank()}:${write(item)}`);
    if (isOdd && members.length > 0 && random(40) === 0) members.push(members[random(members.length)]!);
    return `{${members.join(',')}${blank()}}`;
  };
  return write(value);
};

/** The body of that number, the same in every checkout that has the same recorded ones. */
export const generatedBodies = () => {
  const all = requests()
    .filter(({ body }) => body.includes(placeholder))
    .flatMap(({ path, body }) => {
      try {
        return [{ path, value: JSON.parse(body) as Json }];
      } catch {
        return [];
      }
    });
  return (number: number): { readonly path: Path; readonly body: string } => {
    const random = randomOf(number);
    const { path, value } = all[random(all.length)]!;
    const changed = structuredClone(value);
    for (let times = random(3); times >= 0; times--) mutate(changed, all[random(all.length)]!.value, random);
    return { path, body: written(changed, random, random(3) === 0) };
  };
};

const changedText = (text: string, donor: Json, random: Random): string => {
  try {
    const value = JSON.parse(text) as Json;
    for (let times = random(2); times >= 0; times--) mutate(value, donor, random);
    return written(value, random, random(4) === 0);
  } catch {
    return text;
  }
};

/** The same of answers of upstreams: documents that are changed, events that are changed, left out, doubled or cut off. */
export const generatedAnswers = () => {
  const all = answers();
  const donors = all.flatMap(({ body }) => {
    try {
      return [JSON.parse(body) as Json];
    } catch {
      return [];
    }
  });
  return (number: number): RecordedAnswer => {
    const random = randomOf(number);
    const recorded = all[random(all.length)]!;
    const donor = donors[random(donors.length)]!;
    if (!recorded.stream || !recorded.body.includes('data:'))
      return { ...recorded, body: changedText(recorded.body, donor, random) };
    const frames = recorded.body.split('\n\n').flatMap((frame) => {
      const kind = random(24);
      if (kind === 0) return [];
      if (kind === 1) return [frame, frame];
      if (kind > 4) return [frame];
      return [frame.replace(/^data: ?(.*)$/m, (_, data: string) => `data: ${changedText(data, donor, random)}`)];
    });
    const body = frames.join('\n\n');
    return { ...recorded, body: random(12) === 0 ? body.slice(0, random(body.length + 1)) : body };
  };
};
