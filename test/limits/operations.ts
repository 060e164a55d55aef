import fc from 'fast-check';
import { expect } from 'vitest';
import { seed } from '../support/seed.ts';
import { checkMemory } from './memory.ts';
import { modelIds, people, tightenable, World } from './world.ts';

/** One thing that happens to a world, with a name that a failing example shows. */
class Operation implements fc.Command<object, World> {
  readonly #name: string;
  readonly #act: (world: World) => void;
  constructor(name: string, act: (world: World) => void) {
    this.#name = name;
    this.#act = act;
  }
  check = () => true;
  run(_: object, world: World): void {
    this.#act(world);
    if (world.operations % 16 === 0) checkMemory(world);
    if (world.operations % 64 === 0) world.oracle.prune();
  }
  toString = () => this.#name;
}

const operation = <T>(name: string, arbitrary: fc.Arbitrary<T>, act: (world: World, value: T) => void) =>
  arbitrary.map((value) => new Operation(`${name} ${JSON.stringify(value)}`, (world) => act(world, value)));

const who = fc.nat(people.length - 1);
const which = fc.nat(7);
const tokens = fc.oneof(fc.nat(60), fc.constantFrom(0, 1, 99, 100, 101, 250, 299, 300, 100_000));
const model = fc.constantFrom(null, ...modelIds);
/** Below and above what tiers have. */
const own = fc.option(
  fc.record({
    rpm: fc.option(fc.constantFrom(1, 2, 3, 20)),
    tpm: fc.option(fc.constantFrom(1, 50, 90, 5_000)),
    rpd: fc.option(fc.constantFrom(1, 9, 80_000)),
    concurrent: fc.option(fc.constantFrom(1, 2, 9)),
  }),
);
const need = fc.oneof(tokens, fc.constant('unknown' as const));

/** Where bugs live: around every window's edge, at the widest gap that u16 holds and beyond, and a clock that goes back. */
const edges = [1_000, 60_000, 61_000, 65_535, 600_000, 86_400_000, 87_000_000].flatMap((ms) => [ms - 1, ms, ms + 1]);
const steps = fc.oneof(
  { weight: 6, arbitrary: fc.nat(400) },
  { weight: 5, arbitrary: fc.nat(20_000) },
  { weight: 2, arbitrary: fc.constantFrom(...edges) },
  { weight: 1, arbitrary: fc.integer({ min: -5_000, max: 0 }) },
  { weight: 1, arbitrary: fc.double({ min: 0, max: 2_000, noNaN: true }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 40 * 86_400_000 }) },
);

const everything = [
  { weight: 8, arbitrary: operation('pass', steps, (world, ms) => world.pass(ms)) },
  {
    weight: 12,
    arbitrary: operation('start', fc.tuple(who, need, model), (world, [w, n, m]) => world.start(people[w]!, n, m)),
  },
  {
    weight: 8,
    arbitrary: operation('reserve', fc.tuple(which, tokens, model), (world, [n, t, m]) => world.reserve(n, t, m)),
  },
  { weight: 4, arbitrary: operation('enlarge', fc.tuple(which, tokens), (world, [n, t]) => world.enlarge(n, t)) },
  { weight: 6, arbitrary: operation('settle', fc.tuple(which, tokens), (world, [n, t]) => world.settle(n, t)) },
  { weight: 4, arbitrary: operation('release', which, (world, n) => world.release(n)) },
  { weight: 1, arbitrary: operation('endAgain', fc.nat(50), (world, n) => world.endAgain(n)) },
  { weight: 3, arbitrary: operation('headers', fc.tuple(who, model), (world, [w, m]) => world.headers(people[w]!, m)) },
  { weight: 1, arbitrary: operation('inspect', who, (world, w) => world.inspect(people[w]!)) },
  {
    weight: 1,
    arbitrary: operation('retier', fc.tuple(fc.constantFrom('o0', 'o1'), fc.nat(2)), (world, [o, t]) =>
      world.retier(o, t),
    ),
  },
  {
    weight: 2,
    arbitrary: operation('tighten', fc.tuple(fc.nat(tightenable.length - 1), own), (world, [n, o]) =>
      world.tighten(n, o),
    ),
  },
  { weight: 1, arbitrary: operation('replan', fc.constant(0), (world) => world.replan()) },
  { weight: 2, arbitrary: operation('save', fc.integer({ min: 1, max: 4 }), (world, most) => world.save(most)) },
  { weight: 1, arbitrary: operation('sweep', fc.constant(0), (world) => world.sweep()) },
];

/** Histories of up to `most` operations. */
export const histories = (most: number) => fc.commands([fc.oneof(...everything)], { maxCommands: most, size: 'max' });

/** Runs one history against a fresh world; throws where store and oracle part. */
export const live = (world: World, history: Iterable<fc.Command<object, World>>): void => {
  fc.modelRun(() => ({ model: {}, real: world }), history);
};

const perHistory = 250;

/** Random histories of so many attempts in all, in which store and plain lists say the same of everything. */
export const agree = (attempts: number): void => {
  let [done, refusals] = [0, 0];
  // With one seed every round would repeat the first.
  for (let round = seed; done < attempts; round++) {
    fc.assert(
      fc.property(histories(perHistory), (history) => {
        const world = new World();
        live(world, history);
        checkMemory(world);
        done += world.attempts;
        refusals += world.refusals;
      }),
      { numRuns: 40, seed: round },
    );
  }
  expect(refusals).toBeGreaterThan(attempts / 10);
};
