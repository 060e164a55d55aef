import { type Command, Option } from 'commander';
import { printable, printableJson, type Terminal, UsageError } from '../terminal.ts';
import { type Layout, layoutOf, recordOf, type TextColumn, tableOf } from './table.ts';

/** What a field holds. Times are milliseconds, of a column that says so. */
export type Value = string | number | boolean | null | readonly string[];

/** What a command shows: one row an object, the same fields in each, the most important ones first. */
export type Shown = Readonly<Record<string, Value>>;

/** How a field is shown; text that may be broken into lines where nothing is said. */
export type Kind = 'text' | 'id' | 'time';

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

/** A command that shows rows: how it shows them is said everywhere in the same way. */
export const listing = (command: Command): Command => {
  const add = (flags: string, description: string, choices?: readonly string[]): void => {
    const option = new Option(flags, description).helpGroup('Output:');
    command.addOption(choices ? option.choices(choices) : option);
  };
  add('-o, --output <format>', 'the same by name', formats);
  add('--json', 'one JSON array');
  add('--jsonl', 'one JSON object a line, each as soon as it is known');
  add('--wide', 'every column, each row on one line, however wide');
  add('--utc', 'times in UTC; JSON always has them so');
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

const textOf = (value: Value, kind: Kind | undefined, utc: true | undefined): string => {
  if (value === null) return '';
  if (isTime(kind, value)) return timeText(value, utc);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return printable(typeof value === 'object' ? value.join(', ') : String(value));
};

const asJson = (row: Shown, kinds: Kinds): string =>
  printableJson(
    JSON.stringify(
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          isTime(kinds[name], value) ? new Date(value).toISOString() : value,
        ]),
      ),
    ),
  );

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
  readonly #format: Format;
  readonly #kinds: Kinds;
  readonly #utc: true | undefined;
  #waiting: Shown[] = [];
  #count = 0;
  #layout: Layout | null | undefined;

  /** @throws UsageError where two formats are asked for */
  constructor(terminal: Pick<Terminal, 'out' | 'err' | 'columns'>, options: Output, kinds: Kinds = {}) {
    this.#terminal = terminal;
    this.#format = formatOf(options);
    this.#kinds = kinds;
    this.#utc = options.utc;
  }

  add(row: Shown): void {
    if (this.#format === 'jsonl') this.#terminal.out(`${asJson(row, this.#kinds)}\n`);
    else if (this.#format === 'json')
      this.#terminal.out(`${this.#count === 0 ? '[\n' : ',\n'}${asJson(row, this.#kinds)}`);
    else this.#waiting.push(row);
    this.#count += 1;
  }

  flush(): void {
    if (this.#waiting.length === 0) return;
    const rows = this.#waiting;
    this.#waiting = [];
    const columns = columnsOf(rows, this.#kinds, this.#utc);
    const width = this.#format === 'wide' ? null : this.#terminal.columns;
    const isFirst = this.#layout === undefined;
    this.#layout ??= layoutOf(columns, width);
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
    this.flush();
    if (this.#format === 'json') this.#terminal.out(this.#count === 0 ? '[]\n' : '\n]\n');
    else if (this.#format !== 'jsonl' && this.#count === 0) this.#terminal.out('Nothing to show.\n');
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
  if (format.startsWith('json')) show(terminal, [row], options, kinds);
  else terminal.out(recordOf(columnsOf([row], kinds, options.utc), 0, width));
};
