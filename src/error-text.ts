/**
 * What of an error may be written down. Those of the engine and of Node quote what they were given, as JSON.parse does: a prompt
 * or a key. Of these the name, the code and the place are told; of all others, whose words are Weir's or the system's, the
 * message as well.
 */
const quoting: ReadonlySet<string> = new Set([
  ...['EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError'],
  ...['ZodError', '$ZodError'],
]);

/** An error to be written down: nothing of it but this. */
export interface ErrorText {
  readonly type: string;
  readonly code?: string | number;
  readonly message: string;
  /** With the messages and the places of all that has led to it. */
  readonly stack: string;
}

/** Errors behind an error that are told. */
const mostCauses = 4;
const frame = /^ {4}at /;

export const errorText = (error: unknown, causes = mostCauses): ErrorText => {
  if (!(error instanceof Error)) return { type: typeof error, message: '', stack: '' };
  const { name: type, code, cause, errors } = error as Error & { code?: unknown; errors?: readonly unknown[] };
  const isQuoting = quoting.has(type) || (typeof code === 'string' && code.startsWith('ERR_'));
  const message = isQuoting ? '' : error.message;
  const { stack = '' } = error;
  // The message stands before the places, and may have lines that look like them.
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
