/** Why a connection gave no whole answer, where the system itself has no error for it. */
export class HttpFault extends Error {
  override readonly name = 'HttpFault';
  /** `protocol`: what came is no sound answer. `closed`: the other side ended the connection too early. */
  readonly code: 'protocol' | 'closed' | 'connect_timeout' | 'certificate';

  constructor(code: HttpFault['code'], message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}

export const unsound = (message: string): HttpFault => new HttpFault('protocol', message);
