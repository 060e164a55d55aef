/** Text that may stand in HTML as it is. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Markup | string | number | null | readonly Part[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const textOf = (part: Part): string => {
  if (part === null) return '';
  if (part instanceof Markup) return part.text;
  if (typeof part === 'object') return part.map(textOf).join('');
  return String(part).replace(/[&<>"']/g, (character) => entities[character]!);
};

/** A template whose values are escaped unless they are markup themselves; null is nothing, lists are joined. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Markup =>
  new Markup(strings.reduce((text, string, i) => text + string + (i < parts.length ? textOf(parts[i]!) : ''), ''));

/** JSON that cannot end the script element it stands in. */
export const jsonInScript = (value: unknown): Markup => new Markup(JSON.stringify(value).replaceAll('<', '\\u003c'));
