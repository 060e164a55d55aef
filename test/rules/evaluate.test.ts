// Lane: middle: it runs at length
import { afterAll, describe, expect, test } from 'vitest';
import { priceOf } from '../../src/rules/budget.ts';
import { openEvaluator } from '../../src/rules/evaluate.ts';
import { leastRequest, sampleOwner, sampleTime } from '../../src/rules/samples.ts';
import { scoreOf } from '../../src/rules/score.ts';
import { bodyView, requestView } from '../../src/rules/text/view.ts';
import { crowdedOut, type Job, type Result, tooLong } from '../../src/rules/threads/job.ts';
import { workerEntry } from '../../src/rules/worker-place.ts';
import { WorkerThread } from '../../src/threads/worker-thread.ts';
import { accepted, requestOf, responseOf, scoreIn, userSays } from './rule.ts';

const KiB = 1024;
const now = sampleTime;
const placeFor = (...of: Parameters<typeof priceOf>) => priceOf(...of).place;

describe('the score', () => {
  test.each([
    [true, 10_000],
    [false, 0],
    [0, 0],
    [-0, 0],
    [1, 10_000],
    [-1, 0],
    [7, 10_000],
    [0.7, 7000],
    [0.00005, 1],
    [0.00004999, 0],
    [0.99995, 10_000],
    [0.99994999, 9999],
    [Number.POSITIVE_INFINITY, 10_000],
    [Number.NEGATIVE_INFINITY, 0],
  ])('of %s is %s', (value, score) => {
    expect(scoreOf(value)).toEqual({ verdict: 'score', scoreBasisPoints: score });
    expect(Object.is(scoreOf(value), -0)).toBe(false);
  });
  test.each([Number.NaN, 1n, 'x', null, undefined])('of %s is an error', (value) => {
    expect(scoreOf(value)).toEqual({ verdict: 'error', message: 'the result is not a number' });
  });
  test('of NaN out of a rule is an error', () => {
    expect(scoreIn('double(request.metadata.size()) / double(request.metadata.size()) == 1.0 ? 1.0 : 0.5')).toBe(5000);
    expect(scoreIn('request.max_tokens == 9 ? 0.0 / 0.0 : 1.0', requestOf({ maxTokens: 9 }))).toBe(
      'the result is not a number',
    );
  });
});

describe('an evaluation that fails', () => {
  const metadata = { a: 'secret-key' };
  test.each([
    ['request.max_tokens != 2 || request.metadata["gone"] == "x"', 'no such key (line 1, column 31)'],
    ['request.max_tokens != 2 ||\n request.metadata[request.metadata["a"]] == "x"', 'no such key (line 2, column 2)'],
    ['request.max_tokens != 2 || request.messages[3].text == ""', 'index out of bounds (line 1, column 28)'],
    ['request.max_tokens != 2 || 1 / (request.max_tokens - 2) == 1', 'division by zero (line 1, column 28)'],
    ['request.max_tokens != 2 || int(request.metadata["a"]) == 1', 'int conversion error (line 1, column 28)'],
    ['request.max_tokens != 2 || timestamp("2026-01-01T00:00:00Z") - timestamp("x") == now - now', 'invalid timestamp'],
  ])('%s is an error without the words of the request', (rule, message) => {
    const said = scoreIn(rule, requestOf({ maxTokens: 2, metadata }));
    expect(said).toContain(message.split(' (')[0]);
    expect(said).not.toContain('secret');
  });
  test('is outvoted as in CEL', () => {
    expect(scoreIn('request.metadata["gone"] == "x" || true')).toBe(10_000);
    expect(scoreIn('request.metadata["gone"] == "x" && false')).toBe(0);
    expect(scoreIn('request.messages.exists(m, m.text.substring(9) == "" || m.role == "user")')).toBe(10_000);
  });
});

describe('the budget', () => {
  const texts = (length: number) => userSays('a'.repeat(length));
  const names = (count: number) => requestOf({ tools: Array.from({ length: count }, () => ({ name: '' })) });

  test('sends more than 512 KiB of scanned text to a worker', () => {
    const rule = accepted('request.text.contains("b")');
    expect([-1, 0, 1].map((d) => placeFor(rule, texts(512 * KiB + d)))).toEqual(['loop', 'loop', 'worker']);
  });
  test('counts text length times scanning calls', () => {
    const twice = accepted('request.text.contains("b") || request.text.contains("c")');
    expect([0, 1].map((d) => placeFor(twice, texts(256 * KiB + d)))).toEqual(['loop', 'worker']);
    const any = accepted('request.text.containsAny(["b", "c", "d", "e"])');
    expect([0, 1].map((d) => placeFor(any, texts(128 * KiB + d)))).toEqual(['loop', 'worker']);
  });
  test('refuses more than 16 MiB', () => {
    const rule = accepted('request.text.contains("b")');
    const at = [-1, 0, 1].map((d) => placeFor(rule, texts(16 * KiB * KiB + d)));
    expect(at).toEqual(['worker', 'worker', 'too much text']);
    const eight = accepted(Array.from({ length: 8 }, () => 'request.text.matches("b")').join(' || '));
    expect([0, 1].map((d) => placeFor(eight, texts(2 * KiB * KiB + d)))).toEqual(['worker', 'too much text']);
  });
  test('adds the texts of messages up instead of taking the longest for each', () => {
    const rule = accepted('request.messages.exists(m, m.text.contains("b"))');
    const messages = [16, 1, 1, 1].map((kib) => ({ role: 'user', content: 'a'.repeat(kib * 16 * KiB) }));
    const view = requestOf({ messages });
    placeFor(rule, view);
    expect(view.sizes.get('request.messages.text')).toBe(19 * 16 * KiB);
    expect(placeFor(rule, view)).toBe('loop');
    const squared = accepted('request.messages.exists(m, request.messages.exists(n, n.text.contains(m.role)))');
    expect(placeFor(squared, view)).toBe('worker');
  });
  test('refuses more than 200000 nodes', () => {
    // Three nodes for the call and its list, one for each round.
    const rule = accepted('request.tool_names.all(t, true)');
    const at = [-1, 0, 1].map((d) => placeFor(rule, names(199_997 + d)));
    expect(at).toEqual(['worker', 'worker', 'too much work']);
    // 3 + n·(3 + n)
    const nested = accepted('request.tool_names.all(t, request.tool_names.all(u, true))');
    expect([445, 446].map((n) => placeFor(nested, names(n)))).toEqual(['worker', 'too much work']);
  });
  test('counts lists that operators go through', () => {
    const rule = accepted('request.tool_names.all(t, t in request.tool_names)');
    // 3 + n·(4 + n)
    expect([445, 446].map((n) => placeFor(rule, names(n)))).toEqual(['loop', 'too much work']);
  });
  test('follows lists through filter, literals, conditions and indexes', () => {
    for (const range of [
      'request.messages.filter(m, true)',
      '(request.stream ? request.messages : request.messages.filter(m, true))',
      '[request.messages][0]',
      '{"a": request.messages}["a"]',
      '{"a": request.messages}.a',
    ]) {
      const rule = accepted(`${range}.exists(n, n.text.lowerAscii().trim().contains("b"))`);
      const view = requestOf({ messages: [{ role: 'user', content: 'a'.repeat(512 * KiB) }] });
      expect([range, placeFor(rule, view)]).toEqual([range, 'worker']);
      expect([range, placeFor(rule, userSays('a'))]).toEqual([range, 'loop']);
    }
  });
  test('leaves no periodic needle to the loop, which the host searches in quadratic time', () => {
    const messages = [
      { role: 'user', content: 'a'.repeat(100 * KiB) },
      { role: 'user', content: `${'a'.repeat(5000)}b${'a'.repeat(5000)}` },
    ];
    expect(placeFor(accepted('request.text.contains(request.last_user_text)'), requestOf({ messages }))).toBe('worker');
    expect(placeFor(accepted('request.text.contains(project.name)'), requestOf({ messages }))).toBe('loop');
  });
  test('leaves no thousands of failures to the loop', () => {
    const rule = accepted('request.messages.all(m, m.text.substring(9) == "" || true)');
    const messages = (count: number) =>
      requestOf({ messages: Array.from({ length: count }, () => ({ role: 'user', content: '' })) });
    expect([20, 5000].map((n) => placeFor(rule, messages(n)))).toEqual(['loop', 'worker']);
  });
});

describe('the evaluator', () => {
  const evaluator = openEvaluator();
  afterAll(() => evaluator.close());
  const score = (scoreBasisPoints: number) => ({ verdict: 'score', scoreBasisPoints });

  test('answers at once on the loop', () => {
    expect(evaluator.evaluate(accepted('request.text == "Hi"'), requestOf(), { now })).toEqual(score(10_000));
  });

  test('says which budget is exceeded, at once', () => {
    const tools = Array.from({ length: 200_000 }, () => ({ name: '' }));
    const said = evaluator.evaluate(accepted('request.tool_names.all(t, true)'), requestOf({ tools }), { now });
    expect(said).toEqual({ verdict: 'error', message: 'too much work for this rule' });
  });

  test('gives the same in a worker, with every kind of variable', async () => {
    const rule = accepted(
      `request.text.contains("needle") && request.messages.exists(m, m.role == "user" && m.text.endsWith("needle")) &&
       request.tool_names == ["a"] && request.metadata.team == "x" && request.max_tokens == 1 && project.name == "Sample project" &&
       org.tier == 1 && !request.has_images && now.getFullYear() == 2026`,
    );
    const content = `${'a'.repeat(600 * KiB)}needle`;
    const view = requestOf({ messages: [{ role: 'user', content }], tools: [{ name: 'a' }], metadata: { team: 'x' } });
    const verdict = evaluator.evaluate(rule, view, { now });
    expect(verdict).toBeInstanceOf(Promise);
    expect(await verdict).toEqual(score(10_000));

    const calls = accepted('response.tool_calls.exists(t, t.name == "n" && t.arguments.contains("zz"))', 'response');
    const input = { text: `${'a'.repeat(600 * KiB)}zz` };
    const answered = evaluator.evaluate(
      calls,
      responseOf({ content: [{ type: 'tool_use', id: 't', name: 'n', input }] }),
      { now },
    );
    expect(answered).toBeInstanceOf(Promise);
    expect(await answered).toEqual(score(10_000));
  });

  test('gives errors of a worker as errors', async () => {
    const rule = accepted(
      'request.max_tokens == 2 && request.text.contains("b") || request.max_tokens == 2 && request.tool_names[0] == ""',
    );
    const view = requestOf({ maxTokens: 2, messages: [{ role: 'user', content: 'a'.repeat(600 * KiB) }] });
    expect(await evaluator.evaluate(rule, view, { now })).toMatchObject({
      verdict: 'error',
      message: expect.stringContaining('index out of bounds'),
    });
  });

  test('moves a pattern that defeats its automaton from the loop to a worker', async () => {
    // Every one of 2^15 sets of places is a state of its own.
    let seed = 1;
    const bits = Array.from({ length: 100_000 }, () => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
      return (seed >> 16) & 1 ? 'a' : 'b';
    });
    const view = userSays(bits.join(''));
    for (const call of ['matches("[ab]*a[ab]{15}[^a-z]")', 'countMatches("[ab]*a[ab]{15}[^a-z]") > 0']) {
      const rule = accepted(`request.text.${call}`);
      expect(placeFor(rule, view)).toBe('loop');
      const verdict = evaluator.evaluate(rule, view, { now });
      expect(verdict).toBeInstanceOf(Promise);
      expect(await verdict).toEqual(score(0));
    }
  });

  test('moves a count that reads the text again and again to a worker', async () => {
    const rule = accepted('request.text.countMatches("a.*b|a") > 5');
    const verdict = evaluator.evaluate(rule, userSays('a'.repeat(60_000)), { now });
    // Not waited for: it takes minutes, and ends with the evaluator.
    expect(verdict).toBeInstanceOf(Promise);
  });

  test('takes a view that cannot be read for an error', () => {
    const view = bodyView({ ...leastRequest, body: Buffer.from('{') }, sampleOwner);
    expect(evaluator.evaluate(accepted('request.text == ""'), view, { now })).toEqual({
      verdict: 'error',
      message: 'evaluation failed',
    });
  });

  test('keeps nothing of a request in a rule that waits for the next one', async () => {
    const { setFlagsFromString } = await import('node:v8');
    const { runInNewContext } = await import('node:vm');
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const rule = accepted(
      'request.messages.filter(m, m.text.contains("zz")).exists(n, request.messages.all(o, o.text == n.text))',
    );
    const looked = (() => {
      const view = requestOf({ messages: [{ role: 'user', content: `${'a'.repeat(1000)}zz` }] });
      expect(evaluator.evaluate(rule, view, { now })).toEqual(score(10_000));
      return [
        new WeakRef(view.variables.request!),
        new WeakRef((view.variables.request as { messages?: object[] }).messages![0]!),
      ];
    })();
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    expect(looked.map((ref) => ref.deref())).toEqual([undefined, undefined]);
    expect(rule.text).toContain('filter');
  });
});

describe('the worker threads', () => {
  const slow = accepted(`request.text.matches("(?:[^x]*a[^x]{40}){10}[0-9]") || request.text.matches("[0-9]b")`);
  const long = () => {
    let seed = 7;
    const bits = Array.from({ length: 300_000 }, () => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
      return (seed >> 16) & 1 ? 'a' : 'b';
    });
    return userSays(bits.join(''));
  };

  test('end an evaluation at its deadline and go on', async () => {
    const evaluator = openEvaluator({ threads: 1, deadlineMillis: 300 });
    const verdict = await evaluator.evaluate(slow, long(), { now });
    // Where the machine is busy, it is others that had the processors.
    expect([tooLong, crowdedOut]).toContainEqual(verdict);
    const quick = accepted('request.text.contains("a")');
    expect(await evaluator.evaluate(quick, userSays('a'.repeat(600 * KiB)), { now })).toMatchObject({
      verdict: 'score',
    });
    await evaluator.close();
  });

  test('take turns, within a bound, and fail what waits too long', async () => {
    const evaluator = openEvaluator({ threads: 1, deadlineMillis: 400 });
    const view = long();
    const first = evaluator.evaluate(slow, view, { now });
    const others = Array.from({ length: 70 }, () => evaluator.evaluate(slow, view, { now }));
    const verdicts = await Promise.all([first, ...others]);
    expect(verdicts.every(({ verdict }) => verdict === 'error')).toBe(true);
    const crowded = verdicts.filter((v) => v.verdict === 'error' && v.message === 'too many evaluations at once');
    expect(crowded.length).toBeGreaterThanOrEqual(6);
    await evaluator.close();
  });

  test('are never all taken by one organization', async () => {
    const evaluator = openEvaluator({ threads: 2, deadlineMillis: 60_000 });
    // It takes minutes, and ends with the evaluator.
    const slowly = Array.from({ length: 60 }, () => evaluator.evaluate(slow, long(), { now }));
    const owner = { ...sampleOwner, org: { id: 'org_other', tier: 1 } };
    const request = { ...leastRequest, messages: [{ role: 'user', content: 'a'.repeat(600 * KiB) }] };
    const quick = accepted('request.text.contains("a")');
    expect(await evaluator.evaluate(quick, requestView(request, owner), { now })).toMatchObject({ verdict: 'score' });
    await evaluator.close();
    for (const { verdict } of await Promise.all(slowly)) expect(verdict).toBe('error');
  });

  test('begin with no rule of a request when its time is over', async () => {
    const thread = new WorkerThread<Job, Result>({ entry: workerEntry, heap: 512 });
    const rules = [1, 2].map(() => ({ text: 'true', direction: 'request', atLeast: 1 }) as const);
    const job = { rules, subject: requestOf().subject(), now };
    const verdicts = async (millis: number) => (await thread.run({ ...job, millis }, 2, 60_000)).results;
    expect(await verdicts(60_000)).toMatchObject([{ verdict: 'score' }, { verdict: 'score' }]);
    const late = { verdict: 'error', message: 'the evaluations of this request took too long' };
    expect(await verdicts(-1)).toEqual([late, late]);
    await thread.close();
  });

  test('serve those who wait in order', async () => {
    // The last of them waits for nine others, on a machine that may be busy.
    const evaluator = openEvaluator({ threads: 1, deadlineMillis: 20_000 });
    const view = userSays('a'.repeat(600 * KiB));
    const done: number[] = [];
    const all = Array.from({ length: 10 }, async (_, n) => {
      const verdict = await evaluator.evaluate(accepted('request.text.contains("a")'), view, { now });
      done.push(n);
      return verdict.verdict;
    });
    expect(await Promise.all(all)).toEqual(Array.from({ length: 10 }, () => 'score'));
    expect(done).toEqual([...done].sort((a, b) => a - b));
    await evaluator.close();
  });

  test('end with the evaluator, whatever they are at', async () => {
    const evaluator = openEvaluator({ threads: 2 });
    const view = long();
    const running = [1, 2, 3].map(() => evaluator.evaluate(slow, view, { now }));
    await new Promise((resolve) => setImmediate(resolve));
    await evaluator.close();
    for (const verdict of await Promise.all(running)) expect(verdict.verdict).toBe('error');
    expect(await evaluator.evaluate(slow, view, { now })).toMatchObject({ verdict: 'error' });
  });
});
