/** Their messages quote the input, which may be a prompt or a key (as JSON.parse does), and are left out. */
const quoting: ReadonlySet<string> = new Set([
  ...['EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError'],
  ...['ZodError', '$ZodError'],
]);

/** The loggable part of an error. */
export interface ErrorText {
  readonly type: string;
  readonly code?: string | number;
  readonly message: string;
  readonly stack: string;
}

const mostCauses = 4;
const frame = /^ {4}at /;

export const errorText = (error: unknown, causes = mostCauses): ErrorText => {
  if (!(error instanceof Error)) return { type: typeof error, message: '', stack: '' };
  const { name: type, code, cause, errors } = error as Error & { code?: unknown; errors?: readonly unknown[] };
  const isQuoting = quoting.has(type) || (typeof code === 'string' && code.startsWith('ERR_'));
  const message = isQuoting ? '' : error.message;
  const { stack = '' } = error;
  // The message comes before the frames and may have lines that look like frames.
  const start = stack.indexOf(error.message);
  const places = start < 0 ? '' : stack.slice(start + error.message.length);
  const lines = [
    message === '' ? type : `${type}: ${message}`,
    ...places.split('\n').filter((line) => frame.test(line)),
  ];
  const behind = cause ?? errors?.[0];
  if (behind instanceof Error && causes > 0) lines.push(`caused by ${errorText(behind, causes - 1).stack}`);
  const isCode = typeof code === 'string' || typeof code === 'number';
  return { type, ...(isCode && { code }), message, stack: lines.join('\n') };
};
