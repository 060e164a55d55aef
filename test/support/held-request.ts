import { request } from 'node:http';

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** Of the error envelope; undefined where the answer is none. */
  readonly code: string | undefined;
}

const codeOf = (text: string): string | undefined => {
  try {
    return JSON.parse(text).error?.code;
  } catch {
    return undefined;
  }
};

/**
 * Sends a request without the end of its body.
 * @param held bytes kept back, by default the last one
 */
export const holdRequest = (port: number, { method, path, headers, body }: Sent, held = 1) => {
  const bytes = Buffer.from(body);
  const length = { 'content-type': 'application/json', 'content-length': bytes.length };
  const sending = request({
    host: '127.0.0.1',
    port,
    method,
    path,
    agent: false,
    headers: { ...length, ...headers },
  });
  const answered = new Promise<Answer>((resolve, reject) => {
    sending.on('error', reject);
    sending.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, code: codeOf(text) }),
      );
    });
  });
  // Whoever gives up before the end has heard of it elsewhere.
  answered.catch(() => {});
  sending.flushHeaders();
  if (bytes.length > held) sending.write(bytes.subarray(0, -held));
  return {
    /** Sends the rest. */
    finish(): Promise<Answer> {
      sending.end(bytes.subarray(-held));
      return answered;
    },
  };
};
