import type { RequestPlan } from '../gen/requests.ts';

/** The requests that are measured. Their bytes are the same in every round. */

const head = (line: string, fields: readonly string[]): string =>
  `${[line, 'Host: 127.0.0.1', ...fields].join('\r\n')}\r\n`;

export const helloRequest: RequestPlan = {
  name: 'hello',
  weight: 1,
  before: `${head('GET / HTTP/1.1', [])}\r\n`,
  after: null,
  streams: false,
};

/** A resource or a page of a list. */
export const getRequest = (path: string): RequestPlan => ({
  name: 'get',
  weight: 1,
  before: `${head(`GET ${path} HTTP/1.1`, [])}Authorization: Bearer `,
  after: '\r\n\r\n',
  streams: false,
});

export const modelsRequest: RequestPlan = { ...getRequest('/v1/models'), name: 'models' };

/** A key created; what the plan draws for each is its Idempotency-Key. */
export const creationRequest = (path: string, adminKey: string): RequestPlan => {
  const body = JSON.stringify({ name: 'bench' });
  const fields = [
    `Authorization: Bearer ${adminKey}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  return {
    name: 'create',
    weight: 1,
    before: `${head(`POST ${path} HTTP/1.1`, fields)}Idempotency-Key: `,
    after: `\r\n\r\n${body}`,
    streams: false,
  };
};

export interface MessageOptions {
  readonly model: string;
  /** Bytes of the body. */
  readonly bodyBytes: number;
  readonly maxTokens: number;
  readonly stream: boolean;
  readonly weight?: number;
  readonly path?: string;
  /** Further header fields, as lines. */
  readonly fields?: readonly string[];
}

const text = 'The harbour lies between two hills, and a weir holds the river back. ';

const bodyOf = ({ model, bodyBytes, maxTokens, stream }: MessageOptions): string => {
  const body = (content: string): string =>
    JSON.stringify({
      model,
      max_tokens: maxTokens,
      ...(stream ? { stream } : {}),
      messages: [{ role: 'user', content }],
    });
  const left = Math.max(1, bodyBytes - body('').length);
  return body(text.repeat(Math.ceil(left / text.length)).slice(0, left));
};

/** `POST /v1/messages` of the given size. */
export const messageRequest = (options: MessageOptions): RequestPlan => {
  const body = bodyOf(options);
  const fields = ['Content-Type: application/json', `Content-Length: ${body.length}`, ...(options.fields ?? [])];
  return {
    name: options.stream ? 'stream' : 'message',
    weight: options.weight ?? 1,
    before: `${head(`POST ${options.path ?? '/v1/messages'} HTTP/1.1`, fields)}Authorization: Bearer `,
    after: `\r\n\r\n${body}`,
    streams: options.stream,
  };
};
