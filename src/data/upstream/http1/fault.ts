export class HttpFault extends Error {
  override readonly name = 'HttpFault';
  /** `protocol`: invalid answer. `closed`: ended too early. `address`: not allowed for upstreams. */
  readonly code: 'protocol' | 'closed' | 'connect_timeout' | 'certificate' | 'address';

  /** `message` is logged: it may quote the certificate, nothing else that came over the connection. */
  constructor(code: HttpFault['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export const unsound = (message: string): HttpFault => new HttpFault('protocol', message);
