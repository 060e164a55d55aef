/** The HTTP requests that are measured. Their bytes are the same in every round. */
export interface HttpScenario {
  readonly label: string;
  /** The request as it goes over the wire, one byte a character. */
  readonly request: (projectKey: string) => string;
  readonly expected: number;
}

const head = (line: string, fields: readonly string[]): string =>
  `${[line, 'Host: 127.0.0.1', ...fields].join('\r\n')}\r\n\r\n`;

/** Bytes of the message request's body. */
const bodyBytes = 600;

const messageBody = (): string => {
  const body = (content: string): string =>
    JSON.stringify({ model: 'weir-sim-1', max_tokens: 64, messages: [{ role: 'user', content }] });
  const text = 'The harbour lies between two hills, and a weir holds the river back. ';
  return body(text.repeat(10).slice(0, bodyBytes - body('').length));
};

export const hello: HttpScenario = {
  label: 'bare uWebSockets.js hello',
  request: () => head('GET / HTTP/1.1', []),
  expected: 200,
};

export const models: HttpScenario = {
  label: 'GET /v1/models',
  request: (projectKey) => head('GET /v1/models HTTP/1.1', [`Authorization: Bearer ${projectKey}`]),
  expected: 200,
};

export const messages: HttpScenario = {
  label: 'POST /v1/messages, simulated',
  request: (projectKey) => {
    const body = messageBody();
    const fields = [
      `Authorization: Bearer ${projectKey}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
    ];
    return head('POST /v1/messages HTTP/1.1', fields) + body;
  },
  expected: 200,
};
