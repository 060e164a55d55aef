export interface HttpRequest {
  readonly head: string;
  readonly body: Buffer;
}

const safe = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The lines of header fields. @throws Error, without the value, for one that is not a line of Latin-1 */
export const headerLines = (fields: Readonly<Record<string, string>> | undefined): string => {
  let lines = '';
  for (const name in fields) {
    const value = fields[name]!;
    if (!safe.test(value)) throw new Error(`the header ${name} has a character that no header may have`);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
};

/** @param lines of `headerLines` */
export const post = (host: string, path: string, lines: string, body: Buffer): HttpRequest => ({
  head: `POST ${path} HTTP/1.1\r\nhost: ${host}\r\n${lines}content-length: ${body.length}\r\n\r\n`,
  body,
});
