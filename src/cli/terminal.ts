import { Failure } from '../process/failure.ts';

/** What a command sees of the process. */
export interface Terminal {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The OS user that runs it, and the name of the machine. */
  readonly user: string;
  readonly host: string;
  /** Resolves at the first SIGTERM or SIGINT from now on, or when the terminal is closed, which then does nothing else; the second ends the process. */
  readonly interrupted: () => Promise<void>;
  /** Calls this at each SIGHUP from now on, which then does nothing else; absent where there is no process of its own. */
  readonly onHangup?: (reload: () => void) => void;
  /** Resolves when whoever reads the output has left; absent where nobody can. */
  readonly left?: Promise<void>;
  /** For a command that ends although a part of it may be stuck: the process is gone in two seconds, whatever is. */
  readonly endSoon: () => void;
  /** The status to end with where the process itself fails, such as at output that cannot be written; 1 where it is not said. */
  readonly failsWith?: (status: number) => void;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** How wide the terminal is that is written to; 80 where it is none. */
  readonly columns: number;
  /** Whether what is put out goes to a screen, where a person reads it. */
  readonly isRead?: boolean;
  /** Where a progress bar may be drawn; absent where nobody watches. */
  readonly screen?: NodeJS.WritableStream;
  /** Asks a question and waits for a line; absent where nobody is there to answer. */
  readonly ask?: (question: string) => Promise<string>;
}

/** For a command that goes on by itself: resolves when it is to end, since nobody wants more of it. */
export const untilStopped = ({ interrupted, left }: Terminal): Promise<void> =>
  Promise.race([interrupted(), ...(left ? [left] : [])]);

/** Exit status of a command line that is wrong in itself: EX_USAGE of sysexits.h, which no verdict of a command has. */
export const usageError = 64;

/** What the command line asks for makes no sense, whatever the state of anything. */
export class UsageError extends Failure {
  constructor(message: string, cause?: unknown) {
    super(message, usageError, cause);
  }
}

/**
 * Control characters, what turns the direction of a text, ends a line or cannot be seen, and halves of characters. Joiners and
 * variation selectors stay: names of people and emoji are written with them.
 */
const disguised =
  /(?!\u200c|\u200d|[\ufe00-\ufe0f])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

const hex = (code: number): string => code.toString(16).padStart(4, '0');

/** A text with what a terminal would obey, or would hide, as escapes: names may hold some. */
export const printable = (text: string): string =>
  text.replace(disguised, (character) => {
    const code = character.codePointAt(0)!;
    return code > 0xffff ? `\\u{${hex(code)}}` : `\\u${hex(code)}`;
  });

/** The same of several lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

/** The same for a JSON document, which stays one and means the same. */
export const printableJson = (json: string): string =>
  json.replace(disguised, (character) =>
    Array.from({ length: character.length }, (_, i) => `\\u${hex(character.charCodeAt(i))}`).join(''),
  );
