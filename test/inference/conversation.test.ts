import { describe, expect, test, vi } from 'vitest';
import { isPrefilled } from '../../src/data/api/messages/conversation.ts';
import { messagesBody } from '../../src/data/api/messages/messages-schema.ts';
import { mergeTurns } from '../../src/data/upstream/turns.ts';
import { assistant, body, text, toolResult, toolUse, user } from './body.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 30_000 });

/** The paths of everything that is wrong with a conversation. */
const faults = (...messages: unknown[]): readonly string[] => {
  const issues = messagesBody.safeParse(body({ messages })).error?.issues ?? [];
  return issues.map(({ path }) => path.slice(1).join('.'));
};
const system = { role: 'system', content: 'Be brief.' };

describe('turns', () => {
  test('there is a user message', () => {
    expect(faults(user(text('x')))).toEqual([]);
    expect(faults(system)).toEqual(['']);
    expect(faults(assistant(text('x')))).toEqual(['']);
  });

  test('any order of roles will do otherwise', () => {
    expect(faults(assistant(text('x')), system, user(text('y')), user(text('z')), assistant(text('x')))).toEqual([]);
  });
});

describe('tool_use and tool_result', () => {
  const ask = user(text('How is the weather?'));

  test('each tool_use has one answer in the next user turn', () => {
    expect(faults(ask, assistant(toolUse('a'), toolUse('b')), user(toolResult('b'), toolResult('a')))).toEqual([]);
    expect(faults(ask, assistant(toolUse('a'), toolUse('b')), user(toolResult('b'), text('…')))).toEqual([
      '1.content.0.id',
    ]);
    expect(faults(ask, assistant(toolUse('a')))).toEqual(['1.content.0.id']);
    expect(faults(ask, assistant(toolUse('a')), user(text('x')), user(toolResult('a')))).toEqual([]);
  });

  test('messages of one role are one turn', () => {
    expect(
      faults(ask, assistant(toolUse('a')), assistant(toolUse('b')), user(toolResult('a')), user(toolResult('b'))),
    ).toEqual([]);
    expect(faults(ask, assistant(toolUse('a')), system, user(toolResult('a')))).toEqual([]);
  });

  test('an answer needs its question in the turn before', () => {
    expect(faults(user(toolResult('a')))).toEqual(['0.content.0.tool_use_id']);
    expect(faults(ask, assistant(toolUse('a')), user(toolResult('b')))).toEqual([
      '2.content.0.tool_use_id',
      '1.content.0.id',
    ]);
    const late = [ask, assistant(toolUse('a')), user(text('wait')), assistant(text('ok')), user(toolResult('a'))];
    expect(faults(...late)).toEqual(['1.content.0.id', '4.content.0.tool_use_id']);
  });

  test('an answer is given once, and an id is used once in a turn', () => {
    const twice = [ask, assistant(toolUse('a')), user(toolResult('a'), toolResult('a'))];
    expect(faults(...twice)).toEqual(['2.content.1.tool_use_id']);
    expect(faults(ask, assistant(toolUse('a'), toolUse('a')), user(toolResult('a')))).toEqual(['1.content.1.id']);
    const again = [ask, assistant(toolUse('a')), user(toolResult('a')), assistant(toolUse('a')), user(toolResult('a'))];
    expect(faults(...again)).toEqual([]);
  });

  test('a hundred thousand open questions are told in twenty, soon', () => {
    const started = performance.now();
    const blocks = Array.from({ length: 100_000 }, (_, n) => toolUse(`t${n}`));
    expect(faults(ask, assistant(...blocks))).toHaveLength(20);
    expect(performance.now() - started).toBeLessThan(5000);
  });
});

describe('merging', () => {
  const hello = { role: 'user', content: 'Hello' } as const;

  test('a conversation that alternates is left as it is', () => {
    const messages = [hello, { role: 'assistant', content: 'Hi' }, hello] as const;
    expect(mergeTurns(messages as never)).toBe(messages);
  });

  test('neighbours of one role become one message of blocks', () => {
    const messages = [hello, user(text('World')), hello, { role: 'assistant', content: 'A' }, hello];
    expect(mergeTurns(messages as never)).toEqual([
      { role: 'user', content: [text('Hello'), text('World'), text('Hello')] },
      { role: 'assistant', content: 'A' },
      hello,
    ]);
    expect(messages[1]).toEqual(user(text('World')));
  });

  test('one with a hint of its own begins anew', () => {
    const hinted = { ...hello, output_config: { effort: 'low' } } as const;
    expect(mergeTurns([hello, hinted, hello, { ...hello, output_config: { effort: null } }])).toEqual([
      hello,
      { role: 'user', content: [text('Hello'), text('Hello'), text('Hello')], output_config: { effort: 'low' } },
    ]);
  });

  test('a hundred thousand of one role take no more than linear time', () => {
    const started = performance.now();
    const [merged] = mergeTurns(Array.from({ length: 100_000 }, () => hello));
    expect(merged?.content).toHaveLength(100_000);
    expect(performance.now() - started).toBeLessThan(4000);
  });
});

describe('prefill', () => {
  const prefilled = { messages: [user(text('x')), assistant(text('{'))] };
  const refused = (fields: object) =>
    messagesBody.safeParse(body({ ...prefilled, ...fields })).error?.issues[0]?.path.join('.');

  test('is the last message, of the assistant', () => {
    expect(isPrefilled([{ role: 'user' }, { role: 'assistant' }])).toBe(true);
    expect(isPrefilled([{ role: 'assistant' }, { role: 'user' }])).toBe(false);
  });

  test('does not go with an output schema or with thinking', () => {
    expect(refused({})).toBeUndefined();
    expect(refused({ thinking: { type: 'disabled' }, output_config: { format: null } })).toBeUndefined();
    expect(refused({ output_config: { format: { type: 'json_schema', schema: {} } } })).toBe('messages.1.role');
    expect(refused({ thinking: { budget_tokens: 10 } })).toBe('messages.1.role');
    expect(refused({ thinking: { type: 'adaptive' } })).toBe('messages.1.role');
  });
});
