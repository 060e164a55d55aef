import { inspect } from 'node:util';

/** A credential that shows itself only where it is asked to: not in JSON, not in a template, not in `inspect`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  /** The text without the credential, should it be in there. */
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
