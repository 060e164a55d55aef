import { afterAll, expect, test } from 'vitest';
import { openEvaluator } from '../../src/rules/evaluate.ts';
import { LoopShare } from '../../src/rules/loop-share.ts';
import { leastRequest, sampleOwner, sampleTime } from '../../src/rules/samples.ts';
import { requestView } from '../../src/rules/text/view.ts';
import { accepted } from './rule.ts';

/** The time of the event loop that rules take is shared out among organizations (contract H). */

const shared = () => {
  let now = 1_000_000;
  const share = new LoopShare(() => now);
  const pass = (millis: number) => {
    now += millis;
  };
  const take = (owner: string, millis: number) => share.taking(owner, () => pass(millis));
  return { share, pass, take };
};

test('one organization has half of the loop, and the next window anew', () => {
  const { share, pass, take } = shared();
  expect(share.left('a')).toBe(100);
  take('a', 60);
  expect(share.left('a')).toBe(40);
  take('a', 60);
  expect(share.left('a')).toBe(-20);
  pass(79);
  expect(share.left('a')).toBe(-20);
  pass(1);
  expect(share.left('a')).toBe(100);
});

test('several have equal parts of that half, and who takes little takes nothing from them', () => {
  const { share, pass, take } = shared();
  share.left('a');
  for (const owner of ['a', 'b', 'c', 'd']) take(owner, 20);
  for (let each = 0; each < 50; each += 1) take(`little ${each}`, 1);
  expect(share.left('a')).toBe(5);
  expect(share.left('little 1')).toBe(24);
  pass(70);
  // In the next window there are as many to begin with.
  expect(share.left('a')).toBe(25);
  pass(400);
  expect(share.left('a')).toBe(100);
});

test('of very many each may still take a little', () => {
  const { share, take } = shared();
  share.left('a');
  for (let each = 0; each < 200; each += 1) take(`org ${each}`, 1.001);
  expect(share.left('new')).toBe(1);
});

test('what throws is counted too', () => {
  const { share, pass } = shared();
  share.left('a');
  const fail = () => {
    pass(30);
    throw new Error('on purpose');
  };
  expect(() => share.taking('a', fail)).toThrow('on purpose');
  expect(share.left('a')).toBe(70);
});

const evaluator = openEvaluator();
afterAll(() => evaluator.close());

test('who has had their share is judged in threads, to the same end, and the others at once', async () => {
  const viewOf = (id: string, content: string) =>
    requestView({ ...leastRequest, messages: [{ role: 'user', content }] }, { ...sampleOwner, org: { id, tier: 1 } });
  const judged = (id: string, rule: string, content = 'Hi') =>
    evaluator.judge([{ rule: rules.get(rule)!, atLeast: 5000 }], viewOf(id, content), { now: sampleTime });
  const [costly, quick] = ['request.text.matches("[a-f]*night[a-f]{3}all")', 'request.max_tokens == 1'];
  const rules = new Map([costly, quick].map((text) => [text, accepted(text)]));
  const words = 'abcdefgh '.repeat(400);
  // What takes no time on the loop is not done there either, once the others of its organization have taken theirs.
  let verdicts = judged('org_busy', quick);
  for (let asked = 0; !(verdicts instanceof Promise) && asked < 5_000; asked += 1) {
    judged('org_busy', costly, words);
    verdicts = judged('org_busy', quick);
  }
  const matched = [{ verdict: 'score', scoreBasisPoints: 10_000 }];
  expect(judged('org_other', quick)).toEqual(matched);
  expect(verdicts).toBeInstanceOf(Promise);
  expect(await verdicts).toEqual(matched);
});
