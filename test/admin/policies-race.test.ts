// Lane: middle: it runs at length
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { policy } from '../../src/domain/policy/policy.ts';
import { defaultTerms } from '../../src/domain/policy/policy-terms.ts';
import { Fault } from '../../src/errors.ts';
import { IllegalEvent } from '../../src/kernel/aggregate/aggregate.ts';
import { actors, type Context } from '../../src/kernel/commands/actor.ts';
import { memoryStore } from '../support/memory-store.ts';

/**
 * Two gateways over one store are told things about one policy at once. Whoever is first, the revision grows by one for
 * each change that was accepted, and everybody else is told so (contract B.5).
 */

const context = (): Context => ({ actor: { type: 'system', id: 'test' }, commandId: randomUUID() });
const at = 1;

type What = 'pause' | 'resume' | 'update' | 'publish';

const isRefusal = (error: unknown): boolean => error instanceof Fault || error instanceof IllegalEvent;

const racing = async (
  s: fc.Scheduler,
  commands: readonly { readonly gateway: number; readonly what: What; readonly revision: number }[],
  isScheduled = { value: false },
) => {
  const store = memoryStore({
    delay: (label) => (isScheduled.value ? s.schedule(Promise.resolve(), label).then(() => {}) : Promise.resolve()),
    random: () => 0.5,
  });
  const gateways = [actors(policy, { store }), actors(policy, { store })] as const;
  const terms = { ...defaultTerms, rule: 'true' };
  const input = { organizationId: 'org_1', name: 'n', description: '', terms, at };
  await gateways[0].dispatch('pol_1', 'create', input, context());
  await gateways[0].dispatch('pol_1', 'publish', { revision: 1, versionId: 'polv_1', at }, context());
  isScheduled.value = true;
  const told = commands.map(async ({ gateway, what, revision }, i) => {
    const input = { revision, at, versionId: `polv_${i + 2}`, changes: { rule: `${i} > 0` } };
    const telling = gateways[gateway as 0 | 1].dispatch('pol_1', what as 'update', input, context());
    return telling.then(
      ({ events, state }) => ({ code: events.length > 0 ? 'changed' : 'no-op', revision: state.data.revision }),
      (error: unknown) => ({ code: isRefusal(error) ? 'refused' : String(error), revision: 0 }),
    );
  });
  const answers = await s.waitFor(Promise.all(told));
  const types = store.log.filter(({ stream }) => stream === 'policy-pol_1').map(({ type }) => type);
  return { answers, types: types.slice(2) };
};

describe('told to two gateways at once', () => {
  test('2 to 50 pauses with one revision are exactly one change, and everybody hears that it is paused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.array(fc.nat(1), { minLength: 2, maxLength: 50 }), async (s, gateways) => {
        const pauses = gateways.map((gateway) => ({ gateway, what: 'pause', revision: 2 }) as const);
        const { answers, types } = await racing(s, pauses);
        expect(types).toEqual(['policy.paused']);
        expect(answers.filter(({ code }) => code === 'changed')).toHaveLength(1);
        for (const { code, revision } of answers)
          expect([code === 'changed' || code === 'no-op', revision]).toEqual([true, 3]);
      }),
      { numRuns: 60 },
    );
  });

  test('of pauses and other changes, with this revision and that, each is one revision or a refusal', async () => {
    const command = fc.record({
      gateway: fc.nat(1),
      what: fc.constantFrom<What>('pause', 'resume', 'update', 'publish'),
      revision: fc.constantFrom(2, 2, 2, 3, 4),
    });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.array(command, { minLength: 2, maxLength: 20 }), async (s, commands) => {
        const { answers, types } = await racing(s, commands);
        const changed = answers.filter(({ code }) => code === 'changed');
        // Every accepted change has a revision of its own, without a gap.
        expect(changed.map(({ revision }) => revision).sort()).toEqual(types.map((_, i) => 3 + i));
        const possible = new Set(['changed', 'no-op', 'refused']);
        for (const { code } of answers) expect(possible.has(code), code).toBe(true);
        for (const [i, { code, revision }] of answers.entries()) {
          if (code === 'changed') expect(revision).toBe(commands[i]!.revision + 1);
        }
        // Of those that had seen the latest revision one was first.
        if (commands.some(({ what, revision }) => what !== 'publish' && what !== 'resume' && revision === 2))
          expect(changed.length).toBeGreaterThanOrEqual(1);
      }),
      { numRuns: 150 },
    );
  });
});
