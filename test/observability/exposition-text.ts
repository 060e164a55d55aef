/** Reads what Prometheus reads: the text format of an exposition, version 0.0.4. */

export interface ReadSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ReadMetric {
  readonly type: string;
  readonly help: string;
  readonly samples: readonly ReadSample[];
}

const line = /^(?<name>[a-zA-Z_:][\w:]*)(?:\{(?<labels>.*)\})? (?<value>\S+)$/s;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)",?/gsy;
const escapes: Readonly<Record<string, string>> = { '\\\\': '\\', '\\n': '\n', '\\"': '"' };

const labelsOf = (text: string): Record<string, string> => {
  const labels: Record<string, string> = {};
  label.lastIndex = 0;
  for (let at = 0; at < text.length; at = label.lastIndex) {
    const [, name, value] = label.exec(text) ?? [];
    if (name === undefined || name in labels) throw new Error(`These are no labels: ${text}`);
    labels[name] = value!.replace(/\\./g, (pair) => escapes[pair] ?? pair);
  }
  return labels;
};

const numberOf = (text: string): number => {
  if (/^[+-]?inf$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  const value = Number(text);
  if (Number.isNaN(value) && text.toLowerCase() !== 'nan') throw new Error(`This is no value: ${text}`);
  return value;
};

/** By metric, those of a histogram together. @throws Error for a line that is none of the format */
export const readExposition = (text: string): Map<string, ReadMetric> => {
  const metrics = new Map<string, ReadMetric & { type: string; help: string; samples: ReadSample[] }>();
  const metric = (name: string) => {
    const known = metrics.get(name) ?? { type: 'untyped', help: '', samples: [] };
    metrics.set(name, known);
    return known;
  };
  for (const each of text.split('\n')) {
    const [, what, name, rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(each) ?? [];
    if (what === 'HELP') metric(name!).help = rest;
    else if (what === 'TYPE') metric(name!).type = rest;
    else if (each !== '') {
      const { name: sample, labels = '', value } = line.exec(each)?.groups ?? {};
      if (sample === undefined) throw new Error(`This is no line of an exposition: ${each}`);
      const family = sample.replace(/_(bucket|sum|count)$/, '');
      const owner = metrics.get(family)?.type === 'histogram' ? family : sample;
      metric(owner).samples.push({ name: sample, labels: labelsOf(labels), value: numberOf(value!) });
    }
  }
  return metrics;
};

/** The sum of the samples of that name whose labels have all of these. */
export const total = (
  metrics: ReadonlyMap<string, ReadMetric>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number =>
  [...metrics.values()]
    .flatMap(({ samples }) => samples)
    .filter(
      (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    )
    .reduce((sum, { value }) => sum + value, 0);
