import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type AnyRule, type Evaluator, openEvaluator } from '../../src/rules/evaluate.ts';
import { hosted } from '../inference/hosted.ts';
import { answer, ScriptedUpstream } from '../inference/scripted-upstream.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';

/** What a request is judged by, counted: its effective policies and nothing else, from the very next request on. */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** Rules that were asked for, and those that were calculated on the event loop, by their text, in order. */
const judged: string[] = [];
const calculated: string[] = [];
/** How many judgements a thread was given, and of how many rules none had been compiled here. */
let inThread = 0;
let uncompiled = 0;

const counted = (each: AnyRule): AnyRule => {
  judged.push(each.rule?.text ?? (each as { readonly text: string }).text);
  if (each.rule === null) {
    uncompiled += 1;
    return each;
  }
  const { rule } = each;
  const calculate: typeof rule.calculate = (variables) => {
    calculated.push(rule.text);
    return rule.calculate(variables);
  };
  return { ...each, rule: { ...rule, calculate } };
};
const counting = (evaluator: Evaluator): Evaluator => ({
  ...evaluator,
  judge(rules, view, at) {
    const verdicts = evaluator.judge(rules.map(counted), view, at);
    if (verdicts instanceof Promise) inThread += 1;
    return verdicts;
  },
});

const upstream = new ScriptedUpstream().answers(answer());
let at: Awaited<ReturnType<typeof wholeGateway>>;
let mine: Awaited<ReturnType<typeof at.make.tenant>>;
beforeAll(async () => {
  at = await wholeGateway({ models: hosted(upstream), evaluator: counting(openEvaluator()) });
});
afterAll(() => at.close());
beforeEach(async () => {
  mine = await at.make.tenant();
});

let keys = 0;
const admin = async (path: string, body: object, status = 0) => {
  const headers = { ...bearer(mine.adminKey.value), 'idempotency-key': `key-number-${keys++}` };
  const got = await at.call('POST', `/v1/organization/policies${path}`, { headers, body });
  if (status === 0) expect(got.status, got.text).toBeLessThan(300);
  else expect(got.status, got.text).toBe(status);
  return got.body;
};
const draft = async (rule: string, fields: object = {}): Promise<string> =>
  (await admin('', { name: 'p', mode: 'enforcing', rule, ...fields })).id;
const publish = async (rule: string, fields: object = {}): Promise<string> => {
  const id = await draft(rule, fields);
  await admin(`/${id}/publish`, { revision: 1 });
  return id;
};
const ask = (content: string) => {
  judged.length = 0;
  calculated.length = 0;
  inThread = 0;
  uncompiled = 0;
  return at.call('POST', '/v1/messages', {
    headers: bearer(mine.projectKey.value),
    body: { model: 'm', max_tokens: 5, messages: [{ role: 'user', content }] },
  });
};
const says = (word: string, of = 'request') => `${of}.text.contains("${word}")`;

test('of a hundred policies, the most there may be, a request is judged by its effective ones alone', async () => {
  const effective = [says('first'), says('second')];
  const ofAnswers = says('third', 'response');
  const elsewhere = { scope: 'project', project_ids: [await at.make.project(mine.organizationId)] };
  for (const rule of effective) await publish(rule, { mode: 'monitoring' });
  await publish(ofAnswers, { direction: 'response', mode: 'monitoring' });
  const costs = async () => {
    const { status } = await ask('Hi');
    await expect.poll(() => judged.length).toBe(3);
    return { status, judged: [...judged], calculated: [...calculated] };
  };
  const alone = await costs();
  expect(alone).toEqual({
    status: 200,
    judged: [...effective, ofAnswers],
    calculated: [...effective, ofAnswers],
  });

  // All of these would match.
  for (let number = 3; number < 100; number++) {
    const direction = number % 2 === 0 ? 'request' : 'response';
    const rule = `"${number}" != ""`;
    if (number % 3 === 0) await draft(rule, { direction });
    else if (number % 3 === 1) await publish(rule, { direction, ...elsewhere });
    else await admin(`/${await publish(rule, { direction })}/pause`, { revision: 2 });
  }
  expect((await admin('', { name: 'p', rule: 'true' }, 409)).error.code).toBe('policy_limit_reached');
  expect(await costs()).toEqual(alone);
  // Nor is it found out a second time which they are.
  const { organizationId, projectId } = mine;
  const found = at.inForce.of({ organizationId, projectId });
  expect(found?.request).toHaveLength(2);
  expect(at.inForce.of({ organizationId, projectId })).toBe(found);
});

// 70 Ki units beyond ASCII are more than is built on the event loop.
const large = `${'é'.repeat(70 * 1024)} nightfall`;
test.each([
  ['a request is large', says('nightfall'), large],
  ['a rule is slow to compile', 'request.text.matches("\\\\pL{40}nightfall")', `${'a'.repeat(40)}nightfall`],
])('a pause acts on the very next request where %s, which is judged in a thread', async (_, rule, content) => {
  const id = await publish(rule);
  const inForce = async () => {
    const { status } = await ask(content);
    expect(calculated).toEqual([]);
    return [status, inThread, judged.length];
  };
  expect(await inForce()).toEqual([403, 1, 1]);
  // One that is under way is judged by what was in force when it came.
  const underWay = ask(content);
  await expect.poll(() => inThread).toBe(1);
  await admin(`/${id}/pause`, { revision: 2 });
  expect(await inForce()).toEqual([200, 0, 0]);
  expect((await underWay).status).toBe(403);
  await admin(`/${id}/resume`, { revision: 3 });
  expect(await inForce()).toEqual([403, 1, 1]);
  // Nor does a thread go on with a rule that it knows.
  await admin(`/${id}`, { revision: 4, rule: rule.replace('nightfall', 'daybreak') });
  await admin(`/${id}/publish`, { revision: 5 });
  expect(await inForce()).toEqual([200, 1, 1]);
  await admin(`/${id}/pause`, { revision: 6 });
  expect(await inForce()).toEqual([200, 0, 0]);
});

test('the rules of a hundred policies are not compiled all at once', async () => {
  // Each takes some milliseconds; six of them together take as much as one request compiles.
  const rule = (number: number) =>
    Array.from({ length: 20 }, (_, at) => `request.text.matches("((x${number}${at}{3}){3}){5}")`).join('||');
  for (let number = 0; number < 13; number += 1) await publish(rule(number));
  const left = async () => {
    const { status } = await ask('Hi');
    expect([status, judged.length]).toEqual([200, 13]);
    return uncompiled;
  };
  const [first, second, third] = [await left(), await left(), await left()];
  expect(first).toBeGreaterThan(0);
  expect(second).toBeLessThan(first);
  expect(third).toBe(0);
  // Of a hundred that are known another one takes no more than its own.
  await publish(says('nightfall'));
  expect((await ask('about nightfall')).status).toBe(403);
  expect(uncompiled).toBe(0);
});

test('a rule whose counts repeat counts is compiled in a thread', async () => {
  await publish(Array.from({ length: 20 }, (_, at) => `request.text.matches("((x${at}{9}){9}){9}")`).join('||'));
  expect((await ask('Hi')).status).toBe(200);
  expect([uncompiled, inThread]).toEqual([1, 1]);
});
