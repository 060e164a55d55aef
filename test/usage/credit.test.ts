import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Credit, type CreditHold } from '../../src/data/account/credit.ts';
import { Meter, mostOf } from '../../src/data/account/meter.ts';
import { priceOf } from '../../src/domain/usage/charge.ts';
import type { Settlement } from '../../src/domain/usage/usage-events.ts';
import { free } from '../support/accounts.ts';
import { settlement } from './some-request.ts';

/** Credit over a log whose charges the test adds. */
const credited = (credits: number) => {
  const log = { charged: 0 };
  const credit = new Credit({ balanceOf: () => credits - log.charged, needsCredit: () => true });
  return { credit, log };
};

describe('credit', () => {
  test('is held to the micro-dollar, and not beyond', () => {
    const { credit } = credited(100);
    expect(credit.hold(['o'], 101, 0)).toBeNull();
    const all = credit.hold(['o'], 100, 0);
    expect(credit.hold(['o'], 1, 0)).toBeNull();
    expect(credit.hold(['o'], 0, 0)).not.toBeNull();
    all!.release();
    all!.release();
    expect(credit.hold(['o'], 101, 0)).toBeNull();
    expect(credit.hold(['o'], 100, 0)).not.toBeNull();
  });

  test('of one organization is nobody else’s', () => {
    const { credit } = credited(100);
    credit.hold(['o'], 100, 0);
    expect(credit.hold(['p'], 100, 0)).not.toBeNull();
  });

  test('of several is held of all or of none', () => {
    const funds = { balanceOf: (of: string) => (of === 'o' ? 100 : 40), needsCredit: () => true };
    const credit = new Credit(funds);
    expect(credit.hold(['o', 'p'], 41, 0)).toBeNull();
    const both = credit.hold(['o', 'p'], 40, 0)!;
    expect([credit.hold(['o'], 61, 0), credit.hold(['p'], 1, 0)]).toEqual([null, null]);
    both.grow(10);
    expect([credit.hold(['o'], 61, 0), credit.hold(['p'], 1, 0)]).toEqual([null, null]);
    both.release();
    expect([credit.hold(['o'], 100, 0), credit.hold(['p'], 40, 0)]).not.toContain(null);
  });

  test('that was spent here counts from that moment on, and once when the log has it', () => {
    const { credit, log } = credited(100);
    const spent = settlement('a', { organization_id: 'o', micro_dollars: 60 });
    credit.settled(spent, 'k');
    expect(credit.balanceOf('o')).toBe(40);
    log.charged += 60;
    credit.recorded(['a', 'of another gateway']);
    expect(credit.balanceOf('o')).toBe(40);
    credit.recorded(['a']);
    expect(credit.balanceOf('o')).toBe(40);
  });

  test('can be held beyond the balance by an answer that is longer than was reserved', () => {
    const { credit } = credited(100);
    const hold = credit.hold(['o'], 90, 0)!;
    hold.grow(150);
    expect(credit.hold(['o'], 1, 0)).toBeNull();
    expect(credit.hold(['o'], 0, 0)).not.toBeNull();
    hold.grow(20);
    expect(credit.hold(['o'], 1, 0)).toBeNull();
  });

  test('never admits more than there is, and forgets nothing, whatever comes in whatever order', () => {
    const step = fc.record({
      is: fc.constantFrom('hold', 'settle', 'record', 'drop'),
      amount: fc.nat(60),
      which: fc.nat(9),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), fc.nat(200), (steps, credits) => {
        const { credit, log } = credited(credits);
        const open: { hold: CreditHold; amount: number }[] = [];
        let unsent: Settlement[] = [];
        let [spent, made] = [0, 0];
        const held = () => open.reduce((sum, each) => sum + each.amount, 0);
        for (const { is, amount, which } of steps) {
          if (is === 'hold') {
            const hold = credit.hold(['o'], amount, 0);
            expect(hold !== null).toBe(credits - spent - held() >= amount);
            if (hold) open.push({ hold, amount });
          } else if (is === 'record') {
            log.charged += unsent.reduce((sum, each) => sum + each.micro_dollars, 0);
            credit.recorded(unsent.map(({ request_id }) => request_id));
            unsent = [];
          } else if (open.length > 0) {
            const [{ hold, amount: most }] = open.splice(which % open.length, 1) as [(typeof open)[0]];
            if (is === 'settle') {
              const charged = settlement(`r${made++}`, { organization_id: 'o', micro_dollars: Math.min(amount, most) });
              spent += charged.micro_dollars;
              unsent.push(charged);
              credit.settled(charged, 'k');
            }
            hold.release();
          }
          expect(credit.balanceOf('o')).toBe(credits - spent);
        }
        expect(credits - spent).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a request', () => {
  const price = priceOf('m', {
    ...free,
    prompt: '0.000001',
    completion: '0.00001',
    image: '0.0001',
    request: '0.00001',
  });

  test('may cost its input, the longest answer, its images and itself', () => {
    expect(mostOf(price, 100, 50, 2)).toBe(100 + 500 + 200 + 10);
    expect(mostOf(price, 0, 0, 2)).toBe(0);
  });

  test('holds what it may cost, more while its answer grows, and nothing once it is settled', () => {
    const { credit } = credited(1_000);
    const asked = {
      requestId: 'r',
      organizationId: 'o',
      projectId: 'p',
      keyId: 'k',
      line: 'k',
      model: 'm',
      api: 'messages',
      estimatedTokens: 100,
      images: 0,
      searches: 0,
      maxTokens: 50,
      longest: 50,
    } as const;
    const hold = credit.hold(['o'], mostOf(price, 100, 50, 0), 0)!;
    const meter = new Meter({
      asked,
      price,
      journal: { begin: () => Promise.resolve(true), settle: () => Promise.resolve(true) },
      clock: { wall: () => 0, monotonic: () => 0 },
      credit,
      hold,
    })!;
    expect([credit.hold(['o'], 391, 0), credit.hold(['o'], 390, 0) !== null]).toEqual([null, true]);
    meter.enlarge(100 + 60);
    expect(credit.hold(['o'], 1, 0)).toBeNull();
    meter.complete(
      { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      0,
    );
    // 390 are held by the one above, 70 are charged.
    expect(credit.balanceOf('o')).toBe(930);
    expect([credit.hold(['o'], 541, 0), credit.hold(['o'], 540, 0) !== null]).toEqual([null, true]);
    meter.enlarge(10_000);
    expect(credit.hold(['o'], 0, 0)).not.toBeNull();
  });
});
