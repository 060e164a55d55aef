import { expect, test } from 'vitest';
import { ChatChunkReader } from '../../../src/data/upstream/openai/chat-chunks.ts';
import { readCompletion } from '../../../src/data/upstream/openai/chat-completion.ts';
import { type Chunk, type ToolUseBlock, UpstreamError } from '../../../src/data/upstream/port.ts';
import { assemble } from '../requests.ts';
import { chunk, completion, done } from './mock.ts';

/** Calls as servers cut them, put together as the official SDKs do: names in pieces, ids late, indexes left out. */

interface Piece {
  readonly index?: number | string | null;
  readonly id?: string | null;
  readonly name?: string | null;
  readonly text?: unknown;
}

const callOf = ({ index, id, name, text }: Piece) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id }),
  type: 'function',
  function: { ...(name !== undefined && { name }), ...(text !== undefined && { arguments: text }) },
});

const callId = (index: number): string => `own_${index}`;

/** What each event of the stream makes known. */
const chunksOf = (events: readonly string[]): readonly (readonly Chunk[])[] => {
  const reader = new ChatChunkReader(1000, callId);
  return events.map((event) => {
    const { pieces, failure } = reader.readAll(Buffer.from(event));
    if (failure !== null) throw failure;
    return pieces;
  });
};

const eventsOf = (lists: readonly (readonly Piece[])[], reason = 'tool_calls'): readonly string[] => [
  ...lists.map((list) => chunk({ tool_calls: list.map(callOf) })),
  chunk({}, { finish_reason: reason }),
  done,
];

const streamed = async (lists: readonly (readonly Piece[])[]) => {
  const chunks = chunksOf(eventsOf(lists)).flat();
  const { content, stop_reason } = await assemble(
    (async function* () {
      yield* chunks;
    })(),
  );
  expect(stop_reason).toBe('tool_use');
  return content.map((block) => (block.type === 'tool_use' ? [block.id, block.name, block.input] : block));
};

const [a, b] = [
  { cmd: 'ls', at: 1 },
  { cmd: 'pwd {"', at: 2 },
];
const [textA, textB] = [JSON.stringify(a), JSON.stringify(b)];
const halves = (text: string): readonly [string, string] => [text.slice(0, 7), text.slice(7)];
const [[a1, a2], [b1, b2]] = [halves(textA), halves(textB)];
const one = [['c1', 'bash', a]];
const two = [...one, ['c2', 'read', b]];

test.each<[string, readonly (readonly Piece[])[], readonly unknown[]]>([
  [
    'the name in pieces',
    [[{ index: 0, id: 'c1', name: 'ba', text: '' }], [{ index: 0, name: 'sh' }], [{ index: 0, text: textA }]],
    one,
  ],
  [
    'the name in pieces beside the arguments',
    [[{ index: 0, id: 'c1', name: 'ba', text: a1 }], [{ index: 0, name: 'sh', text: a2 }]],
    one,
  ],
  [
    'the name again and again',
    [[{ index: 0, id: 'c1', name: 'bash', text: a1 }], [{ index: 0, id: 'c1', name: 'bash', text: a2 }]],
    one,
  ],
  [
    'the name again, whole',
    [[{ index: 0, id: 'c1', name: 'ba' }], [{ index: 0, name: 'bash' }], [{ index: 0, text: textA }]],
    one,
  ],
  [
    'the id first and the name later',
    [[{ index: 0, id: 'c1' }], [{ index: 0, name: 'bash' }], [{ index: 0, text: textA }]],
    one,
  ],
  [
    'the id, the arguments, the name',
    [[{ index: 0, id: 'c1' }], [{ index: 0, text: textA }], [{ index: 0, name: 'bash' }]],
    one,
  ],
  [
    'the name first and the id later',
    [[{ index: 0, name: 'bash' }], [{ index: 0, id: 'c1' }], [{ index: 0, text: textA }]],
    one,
  ],
  [
    'the name first and the id behind all arguments',
    [[{ index: 0, name: 'bash', text: a1 }], [{ index: 0, text: a2 }], [{ index: 0, id: 'c1' }]],
    one,
  ],
  ['no id at all', [[{ index: 0, name: 'bash', text: a1 }], [{ index: 0, text: a2 }]], [['own_0', 'bash', a]]],
  [
    'empty members that say nothing',
    [[{ index: 0, id: 'c1', name: 'bash', text: null }], [{ index: 0, id: '', name: '', text: textA }]],
    one,
  ],
  [
    'null members that say nothing',
    [[{ index: 0, id: 'c1', name: 'bash', text: '' }], [{ index: 0, id: null, name: null, text: textA }]],
    one,
  ],
  [
    'no index',
    [
      [{ id: 'c1', name: 'ba' }],
      [{ name: 'sh' }],
      [{ text: a1 }],
      [{ text: a2 }],
      [{ id: 'c2', name: 'read', text: textB }],
    ],
    two,
  ],
  ['an index of null', [[{ index: null, id: 'c1', name: 'bash', text: a1 }], [{ index: null, text: a2 }]], one],
  ['an index as a text', [[{ index: '0', id: 'c1', name: 'bash', text: a1 }], [{ index: '0', text: a2 }]], one],
  [
    'indexes below zero',
    [[{ index: -1, id: 'c1', name: 'bash', text: textA }], [{ index: -2, id: 'c2', name: 'read', text: textB }]],
    two,
  ],
  [
    'no index, told apart by their ids',
    [
      [
        { id: 'c1', name: 'bash' },
        { id: 'c2', name: 'read' },
      ],
      [{ id: 'c1', text: a1 }],
      [{ id: 'c2', text: b1 }],
      [
        { id: 'c1', text: a2 },
        { id: 'c2', text: b2 },
      ],
    ],
    two,
  ],
  [
    'one index, told apart by their ids',
    [
      [{ index: 0, id: 'c1', name: 'bash' }],
      [{ index: 0, id: 'c2', name: 'read' }],
      [{ index: 0, id: 'c1', text: a1 }],
      [{ index: 0, id: 'c2', text: b1 }],
      [{ index: 0, id: 'c1', text: a2 }],
      [{ index: 0, id: 'c2', text: b2 }],
    ],
    two,
  ],
  [
    'one index and no ids',
    [[{ index: 0, name: 'bash', text: textA }], [{ index: 0, name: 'bash', text: textB }]],
    [
      ['own_0', 'bash', a],
      ['own_1', 'bash', b],
    ],
  ],
  [
    'neither index nor ids',
    [[{ name: 'bash', text: '{}' }], [{ name: 'read', text: '' }]],
    [
      ['own_0', 'bash', {}],
      ['own_1', 'read', {}],
    ],
  ],
  [
    'several calls in turns, each in pieces',
    [
      [
        { index: 0, id: 'c1', name: 'ba' },
        { index: 1, name: 're' },
      ],
      [
        { index: 1, name: 'ad', id: 'c2' },
        { index: 0, name: 'sh' },
      ],
      [{ index: 1, text: b1 }],
      [{ index: 0, text: a1 }],
      [{ index: 1, text: b2 }],
      [{ index: 0, text: a2 }],
    ],
    two,
  ],
  ['arguments "null"', [[{ index: 0, id: 'c1', name: 'bash', text: 'null' }]], [['c1', 'bash', {}]]],
  [
    'arguments "null" in pieces',
    [[{ index: 0, id: 'c1', name: 'bash', text: ' nu' }], [{ index: 0, text: 'll ' }]],
    [['c1', 'bash', {}]],
  ],
  ['arguments null', [[{ index: 0, id: 'c1', name: 'bash', text: null }]], [['c1', 'bash', {}]]],
  ['no arguments', [[{ index: 0, id: 'c1', name: 'bash' }]], [['c1', 'bash', {}]]],
  ['blank arguments', [[{ index: 0, id: 'c1', name: 'bash', text: ' ' }]], [['c1', 'bash', {}]]],
  ['arguments as an object', [[{ index: 0, id: 'c1', name: 'bash', text: a }]], one],
  [
    'two calls with objects as arguments',
    [
      [
        { id: 'c1', name: 'bash', text: a },
        { id: 'c2', name: 'read', text: b },
      ],
    ],
    two,
  ],
])('%s', async (_, lists, expected) => {
  expect(await streamed(lists)).toEqual(expected);
});

test.each<[string, readonly Piece[], readonly unknown[]]>([
  ['arguments "null"', [{ id: 'c1', name: 'bash', text: 'null' }], [['c1', 'bash', {}]]],
  ['arguments null', [{ id: 'c1', name: 'bash', text: null }], [['c1', 'bash', {}]]],
  ['no arguments', [{ id: 'c1', name: 'bash' }], [['c1', 'bash', {}]]],
  ['arguments as an object', [{ id: 'c1', name: 'bash', text: a }], one],
  [
    'one index',
    [
      { index: 0, id: 'c1', name: 'bash', text: a },
      { index: 0, id: 'c2', name: 'read', text: textB },
    ],
    two,
  ],
  ['an index as a text', [{ index: '0', id: 'c1', name: 'bash', text: textA }], one],
  [
    'one id',
    [
      { id: 'c', name: 'bash', text: '' },
      { id: 'c', name: 'bash', text: '' },
    ],
    [
      ['c', 'bash', {}],
      ['c', 'bash', {}],
    ],
  ],
  [
    'no ids',
    [
      { index: 0, name: 'bash', text: '' },
      { index: 0, name: 'read', text: null },
    ],
    [
      ['own_0', 'bash', {}],
      ['own_1', 'read', {}],
    ],
  ],
])('in one piece: %s', (_, calls, expected) => {
  const whole = completion({ content: null, tool_calls: calls.map(callOf) });
  const { content } = readCompletion(JSON.stringify(whole), 1000, callId);
  expect(content.map((block) => (block.type === 'tool_use' ? [block.id, block.name, block.input] : block))).toEqual(
    expected,
  );
});

test('an object as arguments keeps the digits of its numbers', () => {
  const digits = '9007199254740993';
  const call = `{"index":0,"id":"c1","function":{"name":"bash","arguments":{"at":${digits}}}}`;
  const event = `data: {"choices":[{"index":0,"delta":{"tool_calls":[${call}]}}]}\n\n`;
  const written = chunksOf([event]).flat();
  expect(written).toContainEqual({
    type: 'block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: `{"at":${digits}}` },
  });
  const { content } = readCompletion(`{"choices":[{"message":{"tool_calls":[${call}]}}]}`, 1000, callId);
  expect(String((content[0] as ToolUseBlock).input.at)).toBe(digits);
});

test('the pieces of a usual call are told as they come', () => {
  const kinds = chunksOf(
    eventsOf([
      [{ index: 0, id: 'c1', name: 'bash', text: '' }],
      [{ index: 0, text: a1 }],
      [{ index: 0, text: a2 }],
      [{ index: 1, id: 'c2', name: 'read', text: textB }],
    ]),
  ).map((chunks) => chunks.map(({ type }) => type));
  expect(kinds).toEqual([
    [],
    ['start', 'block_start', 'block_delta'],
    ['block_delta'],
    ['block_stop', 'block_start', 'block_delta'],
    [],
    ['block_stop', 'end'],
  ]);
});

test.each<[string, readonly (readonly Piece[])[]]>([
  [
    'a name that goes on after the arguments',
    [[{ index: 0, id: 'c1', name: 'ba', text: textA }], [{ index: 0, name: 'sh' }]],
  ],
  ['no name', [[{ index: 0, id: 'c1', text: textA }]]],
  ['half a null', [[{ index: 0, id: 'c1', name: 'bash', text: 'nul' }]]],
  ['more than null', [[{ index: 0, id: 'c1', name: 'bash', text: 'null{}' }]]],
  ['a list of arguments', [[{ index: 0, id: 'c1', name: 'bash', text: [1] }]]],
  ['a number of arguments', [[{ index: 0, id: 'c1', name: 'bash', text: 7 }]]],
  ['pieces of a list without a call', [[{ text: textA }]]],
])('%s is a fault of the upstream', (_, lists) => {
  expect(() => chunksOf(eventsOf(lists))).toThrow(UpstreamError);
});
