/** Why a rule cannot be saved. `line` and `column` count from 1; columns are code points. */
export interface RuleError {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** Where offset `at`, in UTF-16 code units, lies in `text`. */
export const placeOf = (text: string, at: number): { readonly line: number; readonly column: number } => {
  const before = text.slice(0, at);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: [...before.slice(lineStart)].length + 1 };
};

export const ruleError = (text: string, at: number, message: string): RuleError => ({ message, ...placeOf(text, at) });

/** Where in the rule's text an error of the engine arose, in UTF-16 code units. */
export const failureAt = (error: unknown): number | undefined =>
  (error as { readonly range?: { readonly start: number } }).range?.start;
