// Lane: middle: it runs at length
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Canceller } from '../../../src/cancellation.ts';
import { balanced, newMember } from '../../../src/data/upstream/balance/balanced.ts';
import { type Answer, type Upstream, UpstreamError } from '../../../src/data/upstream/port.ts';
import { answer } from '../../inference/scripted-upstream.ts';
import { fixedClock } from '../../support/fixed-clock.ts';
import { request } from '../requests.ts';

/**
 * Requests, answers, failures and time in any order, held against a plain model of contract L.2: whom a request may go to,
 * when it goes on to the next, and what the client is told in the end.
 */

type Outcome = 'answer' | 'failure' | 'refused' | 'overloaded' | 'pause' | 'client' | 'account' | 'begun' | 'left';

const errorOf: Readonly<Record<Exclude<Outcome, 'answer' | 'left'>, UpstreamError>> = {
  failure: new UpstreamError('provider_error', 'failed', { status: 503, begun: false }),
  refused: new UpstreamError('provider_error', 'refused', { begun: false }),
  overloaded: new UpstreamError('provider_overloaded', 'overloaded', { status: 529, begun: false }),
  pause: new UpstreamError('provider_overloaded', 'pause', { status: 429, retryAfterSeconds: 4, begun: false }),
  client: new UpstreamError('invalid_request', 'wrong', { status: 400, begun: false }),
  account: new UpstreamError('provider_error', 'key', { status: 401, begun: false }),
  begun: new UpstreamError('provider_timeout', 'late'),
};

interface Sent {
  readonly request: string;
  readonly at: number;
  readonly end: (outcome: Outcome) => void;
}

/** What is known of one upstream, as a list of what has happened to it. */
class Plain {
  readonly pending: (Sent & { readonly isProbe: boolean })[] = [];
  row = 0;
  openMs = 0;
  openUntil = 0;
  pausedUntil = 0;
  last: UpstreamError | null = null;
  readonly priority: number;
  constructor(priority: number) {
    this.priority = priority;
  }
  probing(): boolean {
    return this.openMs > 0 && this.pending.some(({ isProbe }) => isProbe);
  }
  wait(now: number): number {
    return Math.max(0, this.openUntil - now, this.pausedUntil - now);
  }
  isFree(now: number): boolean {
    return !this.probing() && this.wait(now) === 0;
  }
  ended(isProbe: boolean, outcome: Outcome, now: number): void {
    if (outcome === 'left') return;
    if (outcome !== 'answer' && outcome !== 'client') this.last = errorOf[outcome];
    if (outcome === 'pause') {
      this.pausedUntil = Math.max(this.pausedUntil, now + 4000);
      return;
    }
    if (this.openMs > 0 && !isProbe) return;
    if (outcome === 'answer' || outcome === 'client') {
      [this.row, this.openMs, this.openUntil] = [0, 0, 0];
      return;
    }
    this.row++;
    if (this.openMs === 0 && this.row < 5) return;
    this.openMs = this.openMs === 0 ? 1000 : Math.min(4_000, 2 * this.openMs);
    this.openUntil = now + this.openMs;
  }
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('ask' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      which: fc.nat(20),
      outcome: fc.oneof(
        { weight: 2, arbitrary: fc.constantFrom<Outcome>('answer') },
        { weight: 5, arbitrary: fc.constantFrom<Outcome>('failure', 'refused', 'overloaded', 'account') },
        { weight: 2, arbitrary: fc.constantFrom<Outcome>('pause', 'client', 'begun', 'left') },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(100, 1000, 2500, 40_000) }),
  },
);

const parts = fc.array(fc.record({ priority: fc.nat(2), weight: fc.integer({ min: 1, max: 5 }) }), {
  minLength: 1,
  maxLength: 4,
});

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('whatever fails, requests go where they may, as often as they may, and the client hears the truth', async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(parts, fc.array(step, { minLength: 20, maxLength: 400, size: 'max' }), async (places, steps) => {
      const clock = fixedClock(50_000);
      const plain = places.map(({ priority }) => new Plain(priority));
      let arrived: { at: number; sent: Sent }[] = [];
      const upstreams = places.map(
        (place, at): Upstream => ({
          answer: (_, { requestId }) =>
            new Promise<Answer>((resolve, reject) => {
              const end = (outcome: Outcome) => {
                if (outcome === 'answer') resolve(answer());
                else if (outcome === 'left') {
                  signals.get(requestId)!.abort();
                  reject(signals.get(requestId)!.reason);
                } else reject(errorOf[outcome]);
              };
              arrived.push({ at, sent: { request: requestId, at, end } });
            }),
          stream: () => {
            throw new Error(`not asked for, ${place.weight}`);
          },
          close: async () => {},
        }),
      );
      const { upstream } = balanced(
        places.map((place, at) =>
          newMember('m', { ...place, name: `${at}`, model: 'm', upstream: upstreams[at]! }, { clock }),
        ),
        clock,
      );
      const signals = new Map<string, Canceller>();
      const results = new Map<string, unknown>();
      const askedBy = new Map<string, Set<number>>();
      let budget = 10;
      let asked = 0;

      /** Upstreams to which this request may go. */
      const open = (id: string): number[] => {
        const free = plain.flatMap((each, at) => (each.isFree(clock.at) && !askedBy.get(id)!.has(at) ? [at] : []));
        const lead = Math.min(...free.map((at) => plain[at]!.priority));
        return free.filter((at) => plain[at]!.priority === lead);
      };
      const expectRefused = (id: string, failure: UpstreamError | null): void => {
        const waits = plain.map((each) => each.wait(clock.at));
        const least = Math.min(...waits);
        const told = failure ?? plain[waits.indexOf(least)]!.last!;
        const retryAfterSeconds = Math.max(1, Math.ceil(least / 1000));
        expect(results.get(id)).toMatchObject({ code: told.code, message: told.message, retryAfterSeconds });
        seen.set('told', (seen.get('told') ?? 0) + 1);
      };
      /** That the request has gone to one of these, and to nobody else. */
      const expectSent = (id: string, to: readonly number[]): void => {
        expect(arrived.map(({ sent }) => sent.request)).toEqual([id]);
        const { at, sent } = arrived[0]!;
        expect(to).toContain(at);
        askedBy.get(id)!.add(at);
        plain[at]!.pending.push({ ...sent, isProbe: plain[at]!.openMs > 0 });
        arrived = [];
      };

      for (const each of steps) {
        if (each.do === 'wait') clock.at += each.ms;
        else if (each.do === 'ask') {
          const id = `req_${asked++}`;
          const signal = new Canceller();
          signals.set(id, signal);
          askedBy.set(id, new Set());
          const to = open(id);
          upstream.answer(request(), { signal, requestId: id }).then(
            () => results.set(id, 'answer'),
            (error: unknown) => results.set(id, error),
          );
          await settled();
          if (to.length === 0) {
            expect(arrived).toEqual([]);
            expectRefused(id, null);
            continue;
          }
          budget = Math.min(10, budget + 0.1);
          expectSent(id, to);
        } else {
          const pending = plain.flatMap((one) => one.pending);
          const sent = pending[each.which % Math.max(1, pending.length)];
          if (sent === undefined) continue;
          const place = plain[sent.at]!;
          place.pending.splice(place.pending.indexOf(sent), 1);
          place.ended(sent.isProbe, each.outcome, clock.at);
          seen.set(each.outcome, (seen.get(each.outcome) ?? 0) + 1);
          sent.end(each.outcome);
          await settled();
          const id = sent.request;
          if (each.outcome === 'answer') expect(results.get(id)).toBe('answer');
          else if (each.outcome === 'left') expect(results.get(id)).toBe(signals.get(id)!.reason);
          else if (each.outcome === 'client' || each.outcome === 'begun')
            expect(results.get(id)).toBe(errorOf[each.outcome]);
          else {
            const to = open(id);
            if (to.length === 0 || budget < 1 - 1e-9) {
              expect(arrived).toEqual([]);
              expectRefused(id, errorOf[each.outcome]);
              if (to.length > 0) seen.set('out of budget', (seen.get('out of budget') ?? 0) + 1);
              continue;
            }
            budget -= 1;
            seen.set('went on', (seen.get('went on') ?? 0) + 1);
            expectSent(id, to);
            continue;
          }
          expect(arrived).toEqual([]);
        }
      }
    }),
    { numRuns: 300 },
  );
  // The sequences were not so tame that nothing was put to the test.
  for (const what of ['went on', 'told', 'out of budget', 'pause', 'left', 'begun']) {
    expect(seen.get(what) ?? 0, what).toBeGreaterThan(20);
  }
}, 120_000);
