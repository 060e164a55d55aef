// The variables of rules (contract H), used by the type checker, the views and the cost analysis.

type FieldType =
  | 'string'
  | 'int'
  | 'bool'
  | 'list<string>'
  | 'list<Message>'
  | 'list<ToolCall>'
  | 'map<string, string>';
type Fields = Readonly<Record<string, FieldType>>;

const messageFields = { role: 'string', text: 'string' } as const;
const toolCallFields = { name: 'string', arguments: 'string' } as const;

const requestFields = {
  endpoint: 'string',
  model: 'string',
  max_tokens: 'int',
  input_tokens: 'int',
  message_count: 'int',
  tool_count: 'int',
  stream: 'bool',
  has_images: 'bool',
  has_documents: 'bool',
  has_thinking: 'bool',
  system: 'string',
  text: 'string',
  user_text: 'string',
  last_user_text: 'string',
  messages: 'list<Message>',
  tool_names: 'list<string>',
  metadata: 'map<string, string>',
} as const;

const responseFields = {
  text: 'string',
  stop_reason: 'string',
  output_tokens: 'int',
  tool_names: 'list<string>',
  tool_calls: 'list<ToolCall>',
} as const;

const projectFields = { id: 'string', name: 'string' } as const;
const keyFields = { id: 'string', name: 'string' } as const;
const orgFields = { id: 'string', tier: 'int' } as const;

/** The engine's JavaScript types. */
interface ValueOf {
  readonly string: string;
  readonly int: bigint;
  readonly bool: boolean;
  readonly 'list<string>': readonly string[];
  readonly 'list<Message>': readonly MessageRecord[];
  readonly 'list<ToolCall>': readonly ToolCallRecord[];
  readonly 'map<string, string>': ReadonlyMap<string, string>;
}
type Values<F extends Fields> = { readonly [K in keyof F]: ValueOf[F[K]] };

export type MessageValues = Values<typeof messageFields>;
export type ToolCallValues = Values<typeof toolCallFields>;
export type RequestValues = Values<typeof requestFields>;
export type ResponseValues = Values<typeof responseFields>;

/** An object of a CEL type. The engine tells types by their constructors. */
export interface TypedRecord<V> {
  readonly values: V;
}
export type MessageRecord = TypedRecord<MessageValues>;
export type ToolCallRecord = TypedRecord<ToolCallValues>;

export interface RecordType<V> {
  readonly name: string;
  readonly fields: Fields;
  readonly Record: new (values: V) => TypedRecord<V>;
}

/** A class with a getter for each field, because `values` may be lazy. */
const recordType = <const F extends Fields>(name: string, fields: F): RecordType<Values<F>> => {
  class Record implements TypedRecord<Values<F>> {
    readonly values: Values<F>;
    constructor(values: Values<F>) {
      this.values = values;
    }
  }
  for (const field of Object.keys(fields)) {
    Object.defineProperty(Record.prototype, field, {
      get(this: Record) {
        return this.values[field];
      },
    });
  }
  return { name, fields, Record };
};

export const messageType = recordType('Message', messageFields);
export const toolCallType = recordType('ToolCall', toolCallFields);

export const roots = {
  request: recordType('Request', requestFields),
  response: recordType('Response', responseFields),
  project: recordType('Project', projectFields),
  key: recordType('Key', keyFields),
  org: recordType('Organization', orgFields),
} as const;

export type Direction = 'request' | 'response';
export type RootName = keyof typeof roots;

export const rootsOf = (direction: Direction): readonly RootName[] =>
  direction === 'response' ? ['request', 'response', 'project', 'key', 'org'] : ['request', 'project', 'key', 'org'];
