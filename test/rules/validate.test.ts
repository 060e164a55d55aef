import { afterAll, describe, expect, test } from 'vitest';
import { openEvaluator } from '../../src/rules/evaluate.ts';
import { validateRule } from '../../src/rules/validate.ts';

const evaluator = openEvaluator();
afterAll(() => evaluator.close());

describe('validateRule', () => {
  test('says what kind of rule it is', async () => {
    expect(await validateRule({ rule: 'request.stream', direction: 'request' }, evaluator)).toEqual({
      valid: true,
      type: 'bool',
      errors: [],
    });
    expect(await validateRule({ rule: '0.5', direction: 'response' }, evaluator)).toMatchObject({ type: 'double' });
  });

  test('says what is wrong and where', async () => {
    expect(await validateRule({ rule: 'true &&\n foo', direction: 'request', sample: {} }, evaluator)).toEqual({
      valid: false,
      type: null,
      errors: [{ message: 'There is no variable "foo".', line: 2, column: 2 }],
    });
  });

  test('tries the rule on a sample', async () => {
    const result = async (rule: string, direction: 'request' | 'response', sample: object) =>
      (await validateRule({ rule, direction, sample }, evaluator)).result;
    const messages = [{ role: 'user', content: 'nightfall' }];
    expect(await result('request.text.contains("nightfall")', 'request', { request: { messages } })).toEqual({
      score_basis_points: 10_000,
      error: null,
    });
    expect(await result('request.text == "Hi" ? 0.25 : 1.0', 'request', {})).toEqual({
      score_basis_points: 2500,
      error: null,
    });
    const response = { content: [{ type: 'text', text: 'yes' }], outputTokens: 4 };
    const rule = 'response.text == "yes" && response.output_tokens == 4 && request.text == "nightfall"';
    expect(await result(rule, 'response', { request: { messages }, response })).toMatchObject({
      score_basis_points: 10_000,
    });
    const owner = { project: { id: 'p', name: 'research' } };
    expect(await result('project.name == "research" && org.tier == 1', 'request', { owner })).toMatchObject({
      score_basis_points: 10_000,
    });
    expect(await result('now.getFullYear() == 1970', 'request', { now: 0 })).toMatchObject({
      score_basis_points: 10_000,
    });
  });

  test('gives the error of the sample, in a worker too', async () => {
    const sample = { request: { maxTokens: 2, messages: [{ role: 'user', content: 'a'.repeat(700_000) }] } };
    const rule = 'request.max_tokens == 2 && request.messages[7].text.contains("a")';
    const { valid, result } = await validateRule({ rule, direction: 'request', sample }, evaluator);
    expect([valid, result?.score_basis_points, result?.error]).toEqual([
      true,
      null,
      expect.stringContaining('index out of bounds'),
    ]);
  });
});
