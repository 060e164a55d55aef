export interface RuleError {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** @param at offset in UTF-16 code units */
export const placeOf = (text: string, at: number): { readonly line: number; readonly column: number } => {
  const before = text.slice(0, at);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: [...before.slice(lineStart)].length + 1 };
};

export const ruleError = (text: string, at: number, message: string): RuleError => ({ message, ...placeOf(text, at) });

/** The offset of an engine's error in the rule, in UTF-16 code units. */
export const failureAt = (error: unknown): number | undefined =>
  (error as { readonly range?: { readonly start: number } }).range?.start;
