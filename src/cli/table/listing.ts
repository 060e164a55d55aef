import { type Command, Option } from 'commander';
import { seconds } from '../../clock.ts';
import { dollars } from '../output.ts';
import { printable, printableJson, type Terminal, UsageError } from '../terminal.ts';
import { type Layout, layoutOf, recordOf, type TextColumn, tableOf } from './table.ts';

/** A field's value: times in milliseconds, money in micro-dollars, by its `Kind`. */
export type Value = string | number | boolean | null | readonly string[] | Readonly<Record<string, string>>;

/** One row: the same fields in each, the most important ones first. */
export type Shown = Readonly<Record<string, Value>>;

/** How a field is shown; only `text` may be wrapped. */
export type Kind = 'text' | 'id' | 'time' | 'money';

export type Kinds = Readonly<Record<string, Kind>>;

const formats = ['table', 'wide', 'json', 'jsonl'] as const;
type Format = (typeof formats)[number];

export interface Output {
  readonly output?: Format;
  readonly json?: true;
  readonly jsonl?: true;
  readonly wide?: true;
  readonly utc?: true;
}

const add = (command: Command, flags: string, description: string, choices?: readonly string[]): void => {
  const option = new Option(flags, description).helpGroup('Output:');
  command.addOption(choices ? option.choices(choices) : option);
};

/** Adds the output options of a command that shows pages or documents. */
export const documents = (command: Command): Command => {
  add(command, '-o, --output <format>', 'the same by name', formats);
  add(command, '--json', 'one JSON array');
  add(command, '--jsonl', 'one JSON object a line, each as soon as it is known');
  add(command, '--wide', 'nothing left out and no line broken, however wide');
  return command;
};

/** Adds the output options of a command that shows rows. */
export const listing = (command: Command): Command => {
  add(documents(command), '--utc', 'times in UTC; JSON always has them so');
  return command;
};

/** @throws UsageError if two formats are given */
export const formatOf = ({ output, json, jsonl, wide }: Output): Format => {
  const asked = new Set<Format>();
  if (output) asked.add(output);
  if (json) asked.add('json');
  if (jsonl) asked.add('jsonl');
  if (wide) asked.add('wide');
  if (asked.size > 1) throw new UsageError(`Give one of ${[...asked].join(', ')}: it can only be shown in one way.`);
  return [...asked][0] ?? 'table';
};

const two = (number: number): string => String(number).padStart(2, '0');

/** A time to the second, local or, marked with Z, in UTC. */
export const timeText = (at: number, utc: true | undefined): string => {
  const date = new Date(at);
  if (utc) return `${date.toISOString().slice(0, 19).replace('T', ' ')}Z`;
  const day = [String(date.getFullYear()).padStart(4, '0'), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')}`;
};

const isTime = (kind: Kind | undefined, value: Value): value is number => kind === 'time' && typeof value === 'number';

const isMoney = (kind: Kind | undefined, value: Value): value is number =>
  kind === 'money' && typeof value === 'number';

const textOf = (value: Value, kind: Kind | undefined, utc: true | undefined): string => {
  if (value === null) return '';
  if (isTime(kind, value)) return timeText(value, utc);
  if (isMoney(kind, value)) return dollars(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'object') return printable(String(value));
  const parts = Array.isArray(value) ? value : Object.entries(value).map(([name, inner]) => `${name}=${inner}`);
  return printable(parts.join(', '));
};

/** The units of the API: Unix seconds and dollars. */
const inJson = (value: Value, kind: Kind | undefined): Value => {
  if (isTime(kind, value)) return seconds(value);
  return isMoney(kind, value) ? value / 1_000_000 : value;
};

const documentOf = (row: Shown, kinds: Kinds): object =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, inJson(value, kinds[name])]));

/** Writes JSON incrementally, as one array or an object a line, without control characters. */
class JsonOut {
  readonly #terminal: Pick<Terminal, 'out'>;
  readonly #format: 'json' | 'jsonl';
  #count = 0;

  constructor(terminal: Pick<Terminal, 'out'>, format: 'json' | 'jsonl') {
    this.#terminal = terminal;
    this.#format = format;
  }

  add(document: object): void {
    const text = printableJson(JSON.stringify(document));
    if (this.#format === 'jsonl') this.#terminal.out(`${text}\n`);
    else this.#terminal.out(`${this.#count === 0 ? '[\n' : ',\n'}${text}`);
    this.#count += 1;
  }

  end(): void {
    if (this.#format === 'json') this.#terminal.out(this.#count === 0 ? '[]\n' : '\n]\n');
  }
}

/** Null for the formats that are not JSON. @throws UsageError if two formats are given */
export const jsonOf = (terminal: Pick<Terminal, 'out'>, options: Output): JsonOut | null => {
  const format = formatOf(options);
  return format === 'json' || format === 'jsonl' ? new JsonOut(terminal, format) : null;
};

const columnsOf = (rows: readonly Shown[], kinds: Kinds, utc: true | undefined): TextColumn[] =>
  Object.keys(rows[0] ?? {}).map((name) => {
    const kind = kinds[name];
    const values = rows.map((row) => row[name] ?? null);
    const isNumber = kind === undefined && values.every((value) => value === null || typeof value === 'number');
    return {
      head: name.replaceAll('_', ' ').toUpperCase(),
      cells: values.map((value) => textOf(value, kind, utc)),
      ...(isNumber && { align: 'right' as const }),
      wraps: !isNumber && (kind ?? 'text') === 'text',
    };
  });

/** Shows rows as they arrive. JSON is written at once; a table on `flush` or `end`, later rows in the columns of the first ones. */
export class Listing {
  readonly #terminal: Pick<Terminal, 'out' | 'err' | 'columns'>;
  readonly #isWide: boolean;
  readonly #json: JsonOut | null;
  readonly #kinds: Kinds;
  readonly #utc: true | undefined;
  #waiting: Shown[] = [];
  #count = 0;
  #layout: Layout | null | undefined;

  constructor(terminal: Pick<Terminal, 'out' | 'err' | 'columns'>, options: Output, kinds: Kinds = {}) {
    this.#terminal = terminal;
    this.#isWide = formatOf(options) === 'wide';
    this.#json = jsonOf(terminal, options);
    this.#kinds = kinds;
    this.#utc = options.utc;
  }

  /** @param document written as JSON instead of the row */
  add(row: Shown, document?: object): void {
    if (this.#json) this.#json.add(document ?? documentOf(row, this.#kinds));
    else this.#waiting.push(row);
    this.#count += 1;
  }

  /** Shows the rows so far. Text columns get all of the width, since later texts may be longer. */
  flush(): void {
    this.#show(true);
  }

  #show(goesOn: boolean): void {
    if (this.#waiting.length === 0) return;
    const rows = this.#waiting;
    this.#waiting = [];
    const columns = columnsOf(rows, this.#kinds, this.#utc);
    const width = this.#isWide ? null : this.#terminal.columns;
    const isFirst = this.#layout === undefined;
    this.#layout ??= layoutOf(columns, width, goesOn);
    const layout = this.#layout;
    if (layout === null) {
      const records = rows.map((_, row) => recordOf(columns, row, width));
      this.#terminal.out(`${isFirst ? '' : '\n'}${records.join('\n')}`);
      return;
    }
    this.#terminal.out(tableOf(columns, layout, isFirst));
    if (isFirst && layout.columns < columns.length) this.#sayWhatIsLeftOut(columns.slice(layout.columns));
  }

  end(): void {
    this.#show(false);
    if (this.#json) this.#json.end();
    // On standard error, so that the output has no line.
    else if (this.#count === 0) this.#terminal.err('Nothing to show.\n');
  }

  #sayWhatIsLeftOut(columns: readonly TextColumn[]): void {
    const names = columns.map(({ head }) => head.toLowerCase()).join(', ');
    this.#terminal.err(`No room for: ${names}. --wide shows all.\n`);
  }
}

/** @throws UsageError */
export const show = (terminal: Terminal, rows: Iterable<Shown>, options: Output, kinds?: Kinds): void => {
  const listed = new Listing(terminal, options, kinds);
  for (const row of rows) listed.add(row);
  listed.end();
};

/** Shows one row field by field; as JSON, an array of one. @throws UsageError */
export const showOne = (terminal: Terminal, row: Shown, options: Output, kinds: Kinds = {}): void => {
  const format = formatOf(options);
  const width = format === 'wide' ? null : terminal.columns;
  if (jsonOf(terminal, options)) show(terminal, [row], options, kinds);
  else terminal.out(recordOf(columnsOf([row], kinds, options.utc), 0, width));
};
