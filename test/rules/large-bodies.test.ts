import { afterAll, describe, expect, test, vi } from 'vitest';
import { lentDocument } from '../../src/json/document.ts';
import { openEvaluator } from '../../src/rules/evaluate.ts';
import { maxParsedOnLoop } from '../../src/rules/language/limits.ts';
import { sampleOwner, sampleTime } from '../../src/rules/samples.ts';
import { readField } from '../../src/rules/text/fields.ts';
import { bodyView, responseView } from '../../src/rules/text/view.ts';
import { accepted } from './rule.ts';

/** Bodies that pass: from some size on the event loop does nothing with them but hand them to a thread. */

vi.setConfig({ testTimeout: 60_000 });

const evaluator = openEvaluator();
afterAll(() => evaluator.close());

const beside = { endpoint: 'messages', model: 'm', maxTokens: 5, inputTokens: 5, stream: false } as const;
const most = maxParsedOnLoop;

/** A body of that many bytes; what it says first is at its very end. */
const sized = (bytes: number, content: (room: number) => unknown): Buffer => {
  const body = (value: unknown): string =>
    JSON.stringify({
      messages: [
        { role: 'user', content: value },
        { role: 'user', content: 'nightfall' },
      ],
    });
  const made = body(content(bytes - body('').length));
  return Buffer.from(made + ' '.repeat(bytes - made.length));
};
const shapes = {
  'one text': (room: number) => 'a'.repeat(room),
  'tiny blocks': (room: number) => Array.from({ length: Math.floor(room / 27) }, () => ({ type: 'text', text: 'a' })),
  'numbers in the input of a tool': (room: number) => [
    { type: 'tool_use', id: 'i', name: 'n', input: Array.from({ length: Math.floor(room / 2) - 40 }, () => 1) },
  ],
};

/** The lengths of what was read on this thread, and whether the verdict came at once. */
const judgedOf = async (judge: () => ReturnType<typeof evaluator.judge>) => {
  const scan = vi.spyOn(lentDocument, 'scanAny');
  try {
    const verdicts = judge();
    const parsed = scan.mock.calls.map(([{ length }]) => length).filter((length) => length > 1024);
    const isAtOnce = !(verdicts instanceof Promise);
    return { parsed, isAtOnce, verdicts: await verdicts };
  } finally {
    scan.mockRestore();
  }
};
const matched = [{ verdict: 'score', scoreBasisPoints: 10_000 }];

describe.each(Object.entries(shapes))('a body of %s', (_, shape) => {
  const rules = [{ rule: accepted('request.text.contains("nightfall")'), atLeast: 5000 }];
  const at = { now: sampleTime };

  test('is parsed once where it is small enough', async () => {
    const view = bodyView({ ...beside, body: sized(most, shape) }, sampleOwner);
    expect(await judgedOf(() => evaluator.judge(rules, view, at))).toMatchObject({ parsed: [most], verdicts: matched });
  });

  test.each([most + 1, 4 * most, 1024 * 1024])(
    'is not parsed on the event loop where it has %i bytes',
    async (bytes) => {
      const view = bodyView({ ...beside, body: sized(bytes, shape) }, sampleOwner);
      const judged = await judgedOf(() => evaluator.judge(rules, view, at));
      expect(judged).toMatchObject({ parsed: [], isAtOnce: false, verdicts: matched });
    },
  );

  test('is not parsed on the event loop for its answer either', async () => {
    const both = 'request.text.contains("nightfall") && response.text.contains("daybreak")';
    const view = bodyView({ ...beside, body: sized(most + 1, shape) }, sampleOwner);
    const content = [{ type: 'text', text: 'daybreak' }];
    const answered = responseView(view, { content, stopReason: 'end_turn', outputTokens: 1 });
    const judge = () => evaluator.judge([{ rule: accepted(both, 'response'), atLeast: 5000 }], answered, at);
    expect(await judgedOf(judge)).toMatchObject({ parsed: [], isAtOnce: false, verdicts: matched });
  });
});

describe('a text that takes long for its length', () => {
  const viewOf = (content: unknown) =>
    bodyView({ ...beside, body: Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] })) }, sampleOwner);

  test('is judged in a thread where its normal form is much longer', async () => {
    const rule = accepted('request.text.contains("nightfall")');
    const isAtOnce = async (content: string): Promise<boolean> => {
      const judge = () => evaluator.judge([{ rule, atLeast: 5000 }], viewOf(content), { now: sampleTime });
      return (await judgedOf(judge)).isAtOnce;
    };
    expect(await isAtOnce('\ufdfa'.repeat(3_000))).toBe(true);
    expect(await isAtOnce('\ufdfa'.repeat(40_000))).toBe(false);
  });

  // What grew with the square of the length would take hours.
  const million = 1_000_000;
  test.each<[string, unknown]>([
    ['blanks behind Base64', [{ type: 'new', data: `a${' '.repeat(million)}!` }]],
    ['line breaks in Base64', [{ type: 'thinking', thinking: '', signature: `a${'\n'.repeat(million)}!` }]],
    ['line breaks in an address of data', `data:;base64,a${'\n'.repeat(million)}!`],
    ['marks in one row', `a${'\u0315'.repeat(million)}${'\u0323'.repeat(million)}`],
    ['marks that NFKC makes in one row', `a${'\u1dfe'.repeat(million)}${'\uff9e'.repeat(million)}`],
  ])('is read in time: %s', (_, content) => {
    const view = viewOf(content);
    for (const copy of [view, view.folded]) expect(readField(copy, 'request', 'text')).not.toBe('');
  });
});
