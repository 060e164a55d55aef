import { printableJson, type Terminal } from '../terminal.ts';

/** Writes JSON incrementally, as one array or an object a line, without control characters. */
export class JsonOut {
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
