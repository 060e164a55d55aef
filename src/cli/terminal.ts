import { Failure } from '../app/failure.ts';

/** What a command sees of the process. */
export interface Terminal {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The OS user that runs it, and the name of the machine. */
  readonly user: string;
  readonly host: string;
  /** Resolves at the first SIGTERM or SIGINT from now on, which then does nothing else; the second ends the process. */
  readonly interrupted: () => Promise<void>;
  /** For a command that ends although a part of it may be stuck: the process is gone in two seconds, whatever is. */
  readonly endSoon: () => void;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly columns: number;
  /** Where a progress bar may be drawn; absent where nobody watches. */
  readonly screen?: NodeJS.WritableStream;
  /** Asks a question and waits for a line; absent where nobody is there to answer. */
  readonly ask?: (question: string) => Promise<string>;
}

/** Exit status of a command line that is wrong in itself. */
export const usageError = 2;

/** What the command line asks for makes no sense, whatever the state of anything. */
export class UsageError extends Failure {
  constructor(message: string, cause?: unknown) {
    super(message, usageError, cause);
  }
}

/** C0, C1 and bidirectional controls as escapes: names may hold some, and a terminal must not obey them. */
export const printable = (text: string): string =>
  text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
