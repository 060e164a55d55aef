import { type Command, Option } from 'commander';
import { seconds } from '../../clock.ts';
import { dollars } from '../output.ts';
import { printable, type Terminal, UsageError } from '../terminal.ts';
import { JsonOut } from './json-out.ts';
import { type Layout, layoutOf, recordOf, type TextColumn, tableOf } from './table.ts';

/** What a field holds. Times are milliseconds and money micro-dollars, of a column that says so. */
export type Value = string | number | boolean | null | readonly string[];

/** What a command shows: one row an object, the same fields in each, the most important ones first. */
export type Shown = Readonly<Record<string, Value>>;

/** How a field is shown; text that may be broken into lines where nothing is said. */
export type Kind = 'text' | 'id' | 'time' | 'money';

/** The fields that are not plain text or numbers. */
export type Kinds = Readonly<Record<string, Kind>>;

const formats = ['table', 'wide', 'json', 'jsonl'] as const;
type Format = (typeof formats)[number];

/** What `listing` lets the user say. */
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

/** A command that shows pages of text, or documents. */
export const documents = (command: Command): Command => {
  add(command, '-o, --output <format>', 'the same by name', formats);
  add(command, '--json', 'one JSON array');
  add(command, '--jsonl', 'one JSON object a line, each as soon as it is known');
  add(command, '--wide', 'nothing left out and no line broken, however wide');
  return command;
};

/** A command that shows rows: how it shows them is said everywhere in the same way. */
export const listing = (command: Command): Command => {
  add(documents(command), '--utc', 'times in UTC; JSON always has them so');
  return command;
};

/** @throws UsageError where two formats are asked for */
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

/** A time to the second, in the zone of whoever reads it; in UTC it says so. */
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
  return printable(typeof value === 'object' ? value.join(', ') : String(value));
};

/** As the API has it: times in Unix seconds, money in dollars. */
const inJson = (value: Value, kind: Kind | undefined): Value => {
  if (isTime(kind, value)) return seconds(value);
  return isMoney(kind, value) ? value / 1_000_000 : value;
};

const documentOf = (row: Shown, kinds: Kinds): object =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, inJson(value, kinds[name])]));

/** Where documents go as JSON; null where pages or tables are asked for. @throws UsageError where two formats are */
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

/**
 * Shows rows as they come. JSON goes out at once. A table waits for `flush` or `end`; rows behind the first ones stand in
 * the columns that those have made.
 */
export class Listing {
  readonly #terminal: Pick<Terminal, 'out' | 'err' | 'columns'>;
  readonly #isWide: boolean;
  readonly #json: JsonOut | null;
  readonly #kinds: Kinds;
  readonly #utc: true | undefined;
  #waiting: Shown[] = [];
  #count = 0;
  #layout: Layout | null | undefined;

  /** @throws UsageError where two formats are asked for */
  constructor(terminal: Pick<Terminal, 'out' | 'err' | 'columns'>, options: Output, kinds: Kinds = {}) {
    this.#terminal = terminal;
    this.#isWide = formatOf(options) === 'wide';
    this.#json = jsonOf(terminal, options);
    this.#kinds = kinds;
    this.#utc = options.utc;
  }

  /** @param document what JSON has in the place of the row, where that is more */
  add(row: Shown, document?: object): void {
    if (this.#json) this.#json.add(document ?? documentOf(row, this.#kinds));
    else this.#waiting.push(row);
    this.#count += 1;
  }

  /** Shows what has come. More will come: texts get all of the width, since those may be longer. */
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
    // For people: whoever counts the lines of the answer counts none.
    else if (this.#count === 0) this.#terminal.err('Nothing to show.\n');
  }

  #sayWhatIsLeftOut(columns: readonly TextColumn[]): void {
    const names = columns.map(({ head }) => head.toLowerCase()).join(', ');
    this.#terminal.err(`No room for: ${names}. --wide shows all.\n`);
  }
}

/** Shows rows as a table that fits the terminal, or as the options say. @throws UsageError */
export const show = (terminal: Terminal, rows: Iterable<Shown>, options: Output, kinds?: Kinds): void => {
  const listed = new Listing(terminal, options, kinds);
  for (const row of rows) listed.add(row);
  listed.end();
};

/** Shows one thing, field by field; as JSON it is an array of one. @throws UsageError */
export const showOne = (terminal: Terminal, row: Shown, options: Output, kinds: Kinds = {}): void => {
  const format = formatOf(options);
  const width = format === 'wide' ? null : terminal.columns;
  if (jsonOf(terminal, options)) show(terminal, [row], options, kinds);
  else terminal.out(recordOf(columnsOf([row], kinds, options.utc), 0, width));
};
