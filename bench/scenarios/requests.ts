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

/** The APIs of models, by what a request of each has: its path, its maximum, and the member that its text is in. */
const apis = {
  messages: { path: '/v1/messages', most: 'max_tokens', list: 'messages' },
  chat: { path: '/v1/chat/completions', most: 'max_completion_tokens', list: 'messages' },
  responses: { path: '/v1/responses', most: 'max_output_tokens', list: 'input' },
} as const;
export type Api = keyof typeof apis;

export interface MessageOptions {
  readonly model: string;
  /** Bytes of the body. */
  readonly bodyBytes: number;
  readonly maxTokens: number;
  readonly stream: boolean;
  /** One message of text by default; or the conversation of an agent: many small values, tools and their results. */
  readonly shape?: 'text' | 'agent';
  readonly weight?: number;
  readonly path?: string;
  /** Whose words they are; text alone but for messages. */
  readonly api?: Api;
  /** Further header fields, as lines. */
  readonly fields?: readonly string[];
}

const text = 'The harbour lies between two hills, and a weir holds the river back. ';

const filled = (bytes: number): string => text.repeat(Math.ceil(bytes / text.length)).slice(0, bytes);

const common = ({ model, maxTokens, stream, api = 'messages' }: MessageOptions) => ({
  model,
  [apis[api].most]: maxTokens,
  ...(stream ? { stream } : {}),
});

const textBody = (options: MessageOptions): string => {
  const body = (content: string): string =>
    JSON.stringify({ ...common(options), [apis[options.api ?? 'messages'].list]: [{ role: 'user', content }] });
  return body(filled(Math.max(1, options.bodyBytes - body('').length)));
};

/** Of the bytes of an agent's body, how many go to one tool. */
const bytesPerTool = 1_600;
const agentMessages = 20;
/** As files and the output of programs are: a line end and quotes in every line. */
const sourceLine = '    const depth = gauge.read("north", { unit: "cm" });\n';

const tool = (index: number) => ({
  name: `gauge_${index}`,
  description: filled(120),
  input_schema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Where to read' },
      offset: { type: 'integer', minimum: 0 },
      limit: { type: 'integer', minimum: 1, maximum: 2000 },
      mode: { type: 'string', enum: ['fast', 'exact', 'raw'] },
    },
    required: ['path'],
    additionalProperties: false,
  },
});

const step = (index: number, content: string) => [
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'I read the gauge first.' },
      {
        type: 'tool_use',
        id: `toolu_${index}`,
        name: 'gauge_0',
        input: { path: `/north/${index}`, offset: 0, limit: 80 },
      },
    ],
  },
  {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: `toolu_${index}`, content: [{ type: 'text', text: content }] }],
  },
];

const agentBody = (options: MessageOptions): string => {
  const tools = Array.from({ length: Math.ceil(options.bodyBytes / bytesPerTool) }, (_, index) => tool(index));
  const steps = (agentMessages - 2) / 2;
  const body = (lines: number, last: string): string => {
    const each = Math.floor(lines / steps);
    const results = Array.from({ length: steps }, (_, at) => sourceLine.repeat(each + (at < lines % steps ? 1 : 0)));
    return JSON.stringify({
      ...common(options),
      system: [{ type: 'text', text: filled(200), cache_control: { type: 'ephemeral' } }],
      tools,
      messages: [
        { role: 'user', content: 'How high is the water?' },
        ...results.flatMap((content, at) => step(at, content)),
        { role: 'user', content: [{ type: 'text', text: last }] },
      ],
    });
  };
  const line = JSON.stringify(sourceLine).length - 2;
  const lines = Math.max(0, Math.floor((options.bodyBytes - body(0, '').length) / line));
  return body(lines, filled(Math.max(1, options.bodyBytes - body(lines, '').length)));
};

/** A request for a model, of the given size; of messages by default. */
export const messageRequest = (options: MessageOptions): RequestPlan => {
  const body = options.shape === 'agent' ? agentBody(options) : textBody(options);
  const fields = ['Content-Type: application/json', `Content-Length: ${body.length}`, ...(options.fields ?? [])];
  return {
    name: options.stream ? 'stream' : 'message',
    weight: options.weight ?? 1,
    before: `${head(`POST ${options.path ?? apis[options.api ?? 'messages'].path} HTTP/1.1`, fields)}Authorization: Bearer `,
    after: `\r\n\r\n${body}`,
    streams: options.stream,
  };
};
