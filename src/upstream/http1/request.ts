/** A request whose body is known when it begins. */
export interface HttpRequest {
  /** The request line and the header fields with their blank line, as Latin-1. */
  readonly head: string;
  readonly body: Buffer;
}

const safe = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * A POST with these header fields, beside those that HTTP itself needs.
 *
 * @param host as in a URL, with the port where it is not the usual one
 * @throws Error for a value that does not fit into one line of Latin-1. The value is not in its message.
 */
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
