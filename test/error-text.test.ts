import { expect, test } from 'vitest';
import { z } from 'zod';
import { errorText } from '../src/error-text.ts';

const prompt = 'my secret prompt, which nobody may read';
const thrown = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    return error;
  }
};

test.each<[string, () => unknown]>([
  ['JSON that is none', () => JSON.parse(prompt)],
  ['a member of a text', () => ((prompt as unknown as { x: number }).x = 1)],
  ['a text that is asked for a member', () => 'x' in (prompt as unknown as object)],
  ['a text that is no number', () => BigInt(prompt)],
  ['a method of another', () => Map.prototype.get.call(prompt as never, 1)],
  ['a language that is none', () => new Intl.Locale(prompt)],
  ['an address that is none', () => new URL(prompt)],
  ['an argument of another type', () => Buffer.alloc(prompt as unknown as number)],
  ['an argument of another value', () => Buffer.from('', prompt as 'utf8')],
  ['a schema', () => z.strictObject({}).parse({ [prompt]: 1 })],
  ['the cause of another', () => new Error('It was so.', { cause: thrown(() => JSON.parse(prompt)) })],
  ['one of several', () => new AggregateError([thrown(() => JSON.parse(prompt))], 'All have failed.')],
  ['a text', () => prompt],
])('what an error quotes is not written down: %s', (_, run) => {
  const error = thrown(run);
  const text = errorText(error);
  expect(JSON.stringify(text)).not.toContain(prompt.slice(0, 9));
  if (error instanceof Error) expect(text.stack).toContain('error-text.test.ts');
});

test('the name, the code, the place and what led to it are', () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), {
    code: 'ECONNREFUSED',
    syscall: 'connect',
  });
  const text = errorText(new Error('The store is away:\n    at home', { cause }));
  expect(text).toMatchObject({ type: 'Error', message: 'The store is away:\n    at home' });
  expect(text.stack).toMatch(
    /^Error: The store is away:\n {4}at home\n( {4}at .+\n)+caused by Error: connect ECONNREFUSED 127\.0\.0\.1:9\n {4}at /,
  );
  expect(errorText(cause)).toMatchObject({ code: 'ECONNREFUSED' });
});

test('a place is none that the message has made up', () => {
  const message = `an odd one\n    at ${prompt}`;
  const error = new TypeError(message);
  expect(JSON.stringify(errorText(error))).not.toContain(prompt);
});
