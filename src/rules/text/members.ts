import { Kind, lentDocument as tape } from '../../json/document.ts';

// The document that is read: valid until the next scan, so texts are made in one go.

/** Entries of values by their names, in order. Lists, because a map of a few names takes longer to make than to search. */
export class Members {
  readonly names: string[] = [];
  readonly values: number[] = [];

  add(name: string, value: number): this {
    this.names.push(name);
    this.values.push(value);
    return this;
  }

  get(name: string): number | undefined {
    const at = this.names.indexOf(name);
    return at === -1 ? undefined : this.values[at];
  }

  has(name: string): boolean {
    return this.names.includes(name);
  }

  /** Removes it, too. */
  take(name: string): number | undefined {
    const at = this.names.indexOf(name);
    if (at === -1) return undefined;
    this.names.splice(at, 1);
    return this.values.splice(at, 1)[0];
  }
}

export const membersOf = (object: number): Members => {
  const members = new Members();
  for (let at = object + 1, end = tape.next(object); at < end; at = tape.next(at + 1)) {
    members.add(tape.text(at), at + 1);
  }
  return members;
};

export const isObject = (entry: number | undefined): entry is number =>
  entry !== undefined && tape.kind(entry) === Kind.object;
export const isArray = (entry: number | undefined): entry is number =>
  entry !== undefined && tape.kind(entry) === Kind.array;
export const isNull = (entry: number | undefined): boolean => entry === undefined || tape.kind(entry) === Kind.null;

/** Undefined unless it is a string. */
export const textAt = (entry: number | undefined): string | undefined =>
  entry !== undefined && tape.kind(entry) === Kind.string ? tape.text(entry) : undefined;

/** Items in any form; other values than objects count as content. */
export const objectsIn = (value: number | undefined): readonly Members[] => {
  if (isNull(value)) return [];
  return (isArray(value) ? tape.items(value) : [value!]).map((item) =>
    isObject(item) ? membersOf(item) : new Members().add('content', item),
  );
};
