import { afterAll, describe, expect, test, vi } from 'vitest';
import { replay } from '../../src/admin/policies/replay.ts';
import { chatRoute } from '../../src/data/api/chat/chat.ts';
import { messagesRoute } from '../../src/data/api/messages/messages.ts';
import { responsesRoute } from '../../src/data/api/responses/responses.ts';
import type { PolicyInForce } from '../../src/data/policy/effective.ts';
import { type Decided, policyGuard } from '../../src/data/policy/guard.ts';
import { outcomeOf } from '../../src/data/policy/outcome.ts';
import { openEvaluator } from '../../src/rules/evaluate.ts';
import { leastRequest, sampleOwner, sampleTime } from '../../src/rules/samples.ts';
import { busy, failed, isBusy, type Verdict } from '../../src/rules/score.ts';
import { requestView } from '../../src/rules/text/view.ts';
import { validateRule } from '../../src/rules/validate.ts';
import { NoThread } from '../../src/threads/worker-thread.ts';
import { send } from '../inference/call.ts';
import { hosted } from '../inference/hosted.ts';
import { manualClock } from '../inference/manual-clock.ts';
import { answer, ScriptedUpstream } from '../inference/scripted-upstream.ts';
import { accepted } from '../rules/rule.ts';

/** What is not decided because others are busy is to come again, and nobody is told that a policy forbids it (contract G.8). */

vi.setConfig({ testTimeout: 60_000 });

const policy = (id: string, isEnforcing = true): PolicyInForce => ({
  id,
  name: id,
  version: 3,
  isEnforcing,
  judged: { rule: accepted('request.stream'), atLeast: 5000 },
});
const score = (scoreBasisPoints: number): Verdict => ({ verdict: 'score', scoreBasisPoints });
const noTurn = busy('too many evaluations at once');

describe('what verdicts come to where one has had no turn', () => {
  test.each<[string, readonly (readonly [Verdict, boolean])[], string | null]>([
    ['an enforcing one alone', [[noTurn, true]], 'server_busy'],
    [
      'beside what passes',
      [
        [score(0), true],
        [noTurn, true],
      ],
      'server_busy',
    ],
    [
      'beside a match',
      [
        [noTurn, true],
        [score(10_000), true],
      ],
      'policy_violation',
    ],
    [
      'beside a failure, which would come again',
      [
        [noTurn, true],
        [failed('x'), true],
      ],
      'policy_evaluation_failed',
    ],
    ['a monitoring one', [[noTurn, false]], null],
    [
      'a monitoring one beside a match',
      [
        [noTurn, false],
        [score(10_000), true],
      ],
      'policy_violation',
    ],
  ])('%s', (_, all, code) => {
    const policies = all.map(([, isEnforcing], at) => policy(`pol_${at}`, isEnforcing));
    const outcome = outcomeOf(
      policies,
      all.map(([verdict]) => verdict),
      'request',
      [],
    );
    expect(outcome.refused?.code ?? null).toBe(code);
    // The records say that it has not been evaluated, whoever it was.
    const undecided = all.flatMap(([verdict], at) => (verdict === noTurn ? [`pol_${at}`] : []));
    const errors = outcome.decisions.filter(({ verdict }) => verdict === 'error').map(({ policyId }) => policyId);
    expect(errors).toEqual(expect.arrayContaining(undecided));
  });
});

describe.each(['request', 'response'] as const)('in the direction %s', (direction) => {
  const routes = {
    messages: { route: messagesRoute, body: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 9 } },
    'chat.completions': { route: chatRoute, body: { messages: [{ role: 'user', content: 'Hi' }] } },
    responses: { route: responsesRoute, body: { input: 'Hi' } },
  } as const;

  test.each(Object.keys(routes) as (keyof typeof routes)[])('%s is told 503, and when to come again', async (api) => {
    const recorded: Decided[] = [];
    const clock = manualClock();
    const upstream = new ScriptedUpstream();
    upstream.answers(answer());
    const effective = { request: [], response: [], [direction]: [policy('pol_1')] };
    const policies = policyGuard({
      inForce: { of: () => effective, refusalOf: () => null },
      evaluator: { judge: (rules) => Promise.resolve(rules.map(() => noTurn)) },
      clock,
      record: (decided) => recorded.push(decided),
    });
    const { route, body } = routes[api];
    const options = { models: hosted(upstream), policies, clock, answerId: () => 'msg_1', after: clock.after };
    const { status, headers, body: told } = await send(route(options), { model: 'm', ...body });
    expect([status, headers['Retry-After']]).toEqual([503, '1']);
    expect(headers).not.toHaveProperty('x-policy-decision');
    expect(JSON.stringify(told)).toContain('As many policies are being evaluated as may be at once.');
    expect(recorded).toMatchObject([{ decisions: [{ policyId: 'pol_1', direction, verdict: 'error' }] }]);
  });
});

test('a replay does not count it as a failure of the draft', async () => {
  const body = { endpoint: 'messages', model: 'm', maxTokens: 1, inputTokens: 1, stream: false } as const;
  const kept = [
    { requestId: 'req_1', at: 5, owner: sampleOwner, body: { ...body, body: Buffer.from('{"messages":[]}') } },
  ];
  const replayed = await replay(
    { rule: 'request.stream', direction: 'request', atLeast: 5000, covers: () => true },
    {
      organizationId: sampleOwner.org.id,
      from: 0,
      kept,
      settled: (async function* () {})(),
      ownerOf: () => sampleOwner,
    },
    { evaluator: { judge: () => [noTurn] }, clock: manualClock() },
  );
  expect(replayed).toMatchObject({ requests: 1, failed: 0, undecided: 1, examples: [] });
});

test('a sample that finds no thread says nothing of its rule', async () => {
  const evaluator = { ...openEvaluator(), evaluate: () => noTurn };
  const validated = validateRule({ rule: 'request.stream', direction: 'request', sample: {} }, evaluator);
  await expect(validated).rejects.toBeInstanceOf(NoThread);
});

describe('organizations with costly rules', () => {
  const evaluator = openEvaluator({ deadlineMillis: 300 });
  afterAll(() => evaluator.close());
  const requestOf = (id: string, content: string) =>
    requestView({ ...leastRequest, messages: [{ role: 'user', content }] }, { ...sampleOwner, org: { id, tier: 1 } });
  // Very many sets of places, each a state of its own.
  let seed = 7;
  const letters = Array.from({ length: 300_000 }, () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (seed >> 16) & 1 ? 'a' : 'b';
  }).join('');
  const costly = accepted('request.text.matches("(?:[^x]*a[^x]{40}){10}[0-9]")');
  const harmless = accepted('request.text.contains("nightfall")');

  test('have none that is harmless refused for good', async () => {
    const now = sampleTime;
    const busyOnes = Array.from({ length: 12 }, (_, at) =>
      evaluator.evaluate(costly, requestOf(`org_${at % 4}`, letters), { now }),
    );
    const asked = Array.from({ length: 15 }, () =>
      evaluator.evaluate(harmless, requestOf('org_harmless', 'é'.repeat(70_000)), { now }),
    );
    const verdicts = await Promise.all(asked);
    for (const verdict of verdicts)
      expect([verdict, isBusy(verdict) || verdict.verdict === 'score']).toEqual([verdict, true]);
    // Three threads are taken for longer than a harmless one waits.
    expect(verdicts.some(isBusy)).toBe(true);
    for (const verdict of await Promise.all(busyOnes)) expect(verdict.verdict).toBe('error');
    // It is decided as soon as there is a thread.
    expect(await evaluator.evaluate(harmless, requestOf('org_harmless', 'é'.repeat(70_000)), { now })).toEqual(
      score(0),
    );
  });
});
