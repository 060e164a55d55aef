/** A failure that the user can act upon: one sentence and an exit status, no stack. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: number;
  constructor(message: string, exitCode = 1, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}
