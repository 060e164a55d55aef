import fc from 'fast-check';

type Text = fc.Arbitrary<string>;

/** JSON as text, for properties about what is read without being parsed: with escapes, digits that a double would lose, blanks. */
export const jsonTexts = (parts: {
  readonly strings: readonly string[];
  readonly numbers: readonly string[];
  /** Names of members that may stand anywhere. */
  readonly names: readonly string[];
  readonly values?: readonly string[];
}) => {
  const { strings, numbers, names, values = [] } = parts;
  const string: Text = fc.oneof(
    fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
    fc.constantFrom(...strings, '"te\\u0078t"', '"漢字"', '""', `"${'r'.repeat(70)}"`),
  );
  const number: Text = fc.oneof(fc.integer().map(String), fc.constantFrom(...numbers));
  const anyJson = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      string,
      number,
      fc.constantFrom('null', 'true', 'false', '{}', '[]', ...values),
      fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(' , ')}]`),
      fc
        .uniqueArray(fc.tuple(fc.constantFrom(...names), tie('value')), { selector: ([name]) => name, maxLength: 3 })
        .map((members) => `{${members.map(([name, value]) => `"${name}":${value}`).join(',')}}`),
    ),
  })).value;
  const mostly = (value: Text): Text => fc.oneof({ weight: 60, arbitrary: value }, { weight: 1, arbitrary: anyJson });
  /** Some of these members, in any order, most of them as they should be. */
  const objectOf = (members: Readonly<Record<string, Text>>, needed: readonly string[] = []): Text =>
    fc
      .record(
        Object.fromEntries(
          Object.entries(members).map(([name, value]) => [name, mostly(value).map((text) => `"${name}": ${text}`)]),
        ),
        { requiredKeys: [...needed] },
      )
      .chain((chosen) => fc.shuffledSubarray(Object.values(chosen), { minLength: Object.keys(chosen).length }))
      .map((all) => `{${all.join(',\n ')}}`);
  const listOf = (item: Text, minLength = 0): Text =>
    fc.array(mostly(item), { minLength, maxLength: 4 }).map((items) => `[${items.join(',')}]`);
  const constant = (value: unknown): Text => fc.constant(JSON.stringify(value));
  const flag: Text = fc.constantFrom('true', 'false', 'null');
  return { string, number, anyJson, mostly, objectOf, listOf, constant, flag };
};
