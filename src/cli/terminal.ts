import { Failure } from '../process/failure.ts';

export interface Terminal {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly user: string;
  readonly host: string;
  /** Resolves at the first SIGTERM or SIGINT, or when the terminal is closed; a second signal ends the process. */
  readonly interrupted: () => Promise<void>;
  /** Handles SIGHUP; absent in a process that is not Weir's own. */
  readonly onHangup?: (reload: () => void) => void;
  /** Resolves when the reader of the output has closed it. */
  readonly left?: Promise<void>;
  /** Exits the process in two seconds, even if something is stuck. */
  readonly endSoon: () => void;
  /** Sets the exit status for errors of the process itself, such as output that cannot be written; 1 by default. */
  readonly failsWith?: (status: number) => void;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Width of the terminal; 80 without one. */
  readonly columns: number;
  /** Whether standard output is a screen. */
  readonly isRead?: boolean;
  /** For progress bars; absent if standard error is no terminal. */
  readonly screen?: NodeJS.WritableStream;
  /** Asks a question; absent without a terminal. */
  readonly ask?: (question: string) => Promise<string>;
}

/** For a command that runs until it is interrupted, or its reader has left. */
export const untilStopped = ({ interrupted, left }: Terminal): Promise<void> =>
  Promise.race([interrupted(), ...(left ? [left] : [])]);

/** EX_USAGE of sysexits.h; no verdict of a command has it. */
export const usageError = 64;

export class UsageError extends Failure {
  constructor(message: string, cause?: unknown) {
    super(message, usageError, cause);
  }
}

/** Controls, line separators and invisible characters, without joiners and variation selectors, which names and emoji need. */
const disguised =
  /(?!\u200c|\u200d|[\ufe00-\ufe0f])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

const hex = (code: number): string => code.toString(16).padStart(4, '0');

/** Escapes characters that a terminal would interpret or hide. */
export const printable = (text: string): string =>
  text.replace(disguised, (character) => {
    const code = character.codePointAt(0)!;
    return code > 0xffff ? `\\u{${hex(code)}}` : `\\u${hex(code)}`;
  });

export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

/** The same as JSON escapes. */
export const printableJson = (json: string): string =>
  json.replace(disguised, (character) =>
    Array.from({ length: character.length }, (_, i) => `\\u${hex(character.charCodeAt(i))}`).join(''),
  );
