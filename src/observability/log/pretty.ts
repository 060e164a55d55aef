const grey = 90;

const names: Readonly<Record<number, readonly [name: string, color: number]>> = {
  10: ['TRACE', grey],
  20: ['DEBUG', grey],
  30: ['INFO', 32],
  40: ['WARN', 33],
  50: ['ERROR', 31],
  60: ['FATAL', 31],
};

type Paint = (text: string, color: number) => string;
const colored: Paint = (text, color) => `\u001b[${color}m${text}\u001b[0m`;
const uncolored: Paint = (text) => text;

/** Escapes control characters but new lines: a terminal must not obey a name or a message. */
const harmless = (text: string): string =>
  text.replace(
    /(?!\n)[\p{Cc}\p{Bidi_Control}]/gu,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const plain = /^[\w.:/@+-]+$/;
const shown = (value: unknown): string =>
  typeof value === 'string' && plain.test(value) ? value : harmless(JSON.stringify(value));

const timeOf = (ms: number): string => {
  const at = new Date(ms);
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
};

const unsaid: ReadonlySet<string> = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'err']);

export const pretty = (line: string, isColored: boolean): string => {
  const paint = isColored ? colored : uncolored;
  const entry = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const { level, time, msg, err } = entry as { level: number; time: number; msg: unknown; err?: { stack?: string } };
  const [name, color] = names[level] ?? [String(level), 37];
  const fields = Object.entries(entry)
    .filter(([key]) => !unsaid.has(key))
    .map(([key, value]) => ` ${paint(`${harmless(key)}=`, grey)}${shown(value)}`);
  const stack =
    err === undefined ? '' : `\n    ${harmless(err.stack ?? JSON.stringify(err)).replaceAll('\n', '\n    ')}`;
  return `${paint(timeOf(time), grey)} ${paint(name.padEnd(5), color)} ${harmless(String(msg))}${fields.join('')}${stack}\n`;
};
