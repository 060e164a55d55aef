/** What can be asked for with --only. */
export const scenarioNames = ['hello', 'models', 'messages', 'appends'] as const;

export type ScenarioName = (typeof scenarioNames)[number];

/** What is measured: the scenarios and the yardstick of the appends. */
export type ContenderName = ScenarioName | 'puts';

/** What a contender's figures are divided by. */
export const unitOf = {
  hello: null,
  models: 'hello',
  messages: 'hello',
  appends: 'puts',
  puts: null,
} as const satisfies Record<ContenderName, ContenderName | null>;

/** The contenders of a run in their order: what was asked for, and the units of it. */
export const contendersOf = (only: readonly ScenarioName[]): readonly ContenderName[] => {
  const wanted = new Set<ContenderName>(only);
  for (const name of only) if (unitOf[name] !== null) wanted.add(unitOf[name]);
  return (['hello', 'models', 'messages', 'appends', 'puts'] as const).filter((name) => wanted.has(name));
};
