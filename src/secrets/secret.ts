import { inspect } from 'node:util';

/** Hides its value in JSON, templates and `inspect`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  hideIn(text: string): string {
    return this.#value === '' ? text : text.replaceAll(this.#value, '[key]');
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}
