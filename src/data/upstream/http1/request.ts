export interface HttpRequest {
  readonly head: string;
  readonly body: Buffer;
}

const safe = /^[\t\x20-\x7e\x80-\xff]*$/;

/** @throws Error, without the value, for one that is not a line of Latin-1 */
export const post = (
  host: string,
  path: string,
  fields: Readonly<Record<string, string>>,
  body: Buffer,
): HttpRequest => {
  let head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (const name in fields) {
    const value = fields[name]!;
    if (!safe.test(value)) throw new Error(`the header ${name} has a character that no header may have`);
    head += `${name}: ${value}\r\n`;
  }
  return { head: `${head}content-length: ${body.length}\r\n\r\n`, body };
};
