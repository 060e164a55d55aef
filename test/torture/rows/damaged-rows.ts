import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projections } from '../../../projections/all.ts';
import { startReactors } from '../../../src/kernel/followers/reactor.ts';
import { openReadModels, type ReadModels } from '../../../src/kernel/projections/projection.ts';
import { complain, type Figures, type Plan } from '../figures.ts';
import { type Random, seeded } from '../random.ts';
import { Scene } from '../scene.ts';
import { askEach, type Outcome, type Task } from './ask-each.ts';
import { damageRows, placesOfRows } from './rows-damage.ts';
import {
  type Answers,
  absent,
  ask,
  dueTo,
  emptyLog,
  happen,
  makeWorld,
  noting,
  questionsOf,
  type World,
} from './rows-world.ts';

const AT_ONCE = 25;
/** How much of what happens has happened when the file is closed that is damaged, and when older states of it are kept. */
const [OLD, EARLY] = [0.6, 0.8];
const OLDER = 3;

interface Sound {
  readonly file: Buffer;
  readonly sums: Buffer;
  /** The file at earlier times, the newest last. */
  readonly older: readonly Buffer[];
}

/** What is true at each time. */
interface Truth {
  readonly early: Answers;
  readonly all: Answers;
  /** Positions of what happens later and a reactor is given. */
  readonly due: readonly number[];
}

const openModels = (dir: string, store: ReturnType<typeof emptyLog>): Promise<ReadModels> =>
  openReadModels({ ours: (batch) => batch, dir, store, logId: 'log', projections });

const soundIn = (dir: string, older: readonly Buffer[]): Sound => ({
  file: readFileSync(join(dir, 'data.mdb')),
  sums: readFileSync(join(dir, 'data.sums')),
  older,
});

/** Read models that were closed properly, now and then. */
const soundRows = async (dir: string, world: World, early: number): Promise<Sound> => {
  const older: Buffer[] = [];
  const begin = Math.floor(world.length * OLD);
  for (let state = 0; state <= OLDER; state++) {
    const store = emptyLog();
    happen(store, world.slice(0, begin + Math.floor(((early - begin) * state) / OLDER)));
    const models = await openModels(dir, store);
    await models.close();
    await store.close();
    if (state < OLDER) older.push(readFileSync(join(dir, 'data.mdb')));
  }
  return soundIn(dir, older);
};

const soundReactors = async (dir: string, world: World, early: number): Promise<Sound> => {
  const older: Buffer[] = [];
  for (const count of [Math.floor(world.length * OLD), early]) {
    const store = emptyLog();
    happen(store, world.slice(0, count));
    const last = dueTo(store.log).at(-1);
    let end = (): void => {};
    const handled = new Promise<void>((resolve) => {
      end = resolve;
    });
    const reactor = noting((position) => position === last && end());
    const running = await startReactors({ dir, store, logId: 'log', reactors: [reactor], ours: (batch) => batch });
    await handled;
    await running.close();
    await store.close();
    older.push(readFileSync(join(dir, 'data.mdb')));
  }
  return soundIn(dir, older.slice(0, -1));
};

const truthOf = async (
  dir: string,
  world: World,
  early: number,
): Promise<{ truth: Truth; questions: ReturnType<typeof questionsOf> }> => {
  const store = emptyLog();
  happen(store, world.slice(0, early));
  const models = await openModels(dir, store);
  const questions = questionsOf(models);
  const before = ask(models, questions);
  happen(store, world.slice(early));
  await models.reached(store.log.at(-1)!.position, 20_000, models.tables);
  await models.written(models.tables);
  const all = ask(models, questions);
  await models.close();
  return { truth: { early: before, all, due: dueTo(store.log.slice(early)) }, questions };
};

/** Of some seeds nothing is published in time: those are passed over. */
const worldWithPolicies = async (base: string, seed: number) => {
  for (let from = seed; ; from++) {
    const world = await makeWorld(from);
    const early = Math.floor(world.length * EARLY);
    const found = await truthOf(join(base, `truth-${from}`), world, early);
    if (Object.values(found.truth.early).some((answer) => answer.includes('isEnforcing')))
      return { world, early, ...found };
    if (from === seed + 20) throw new Error('no policy is in force');
  }
};

/**
 * ROWS: damages the file of the read models, or that of the reactors, in many ways and asks everything of them that a request is
 * judged by: at once, when all has been made again, when more has happened, and after another start. Each answer is true, or it is
 * that the rows are not there; and when they have been made again it is true. In some cycles a row is damaged while it is served.
 * The canary reads as the release before did, without sums.
 */
export const torturedByDamagedRows = async (plan: Plan, figures: Figures): Promise<void> => {
  const { count, seed, from = 0, canary = false } = plan;
  const scene = new Scene();
  const seen = { told: 0, 'not told': 0 };
  try {
    const base = scene.dir();
    const { world, early, truth, questions } = await worldWithPolicies(base, seed);
    const rows = await soundRows(join(base, 'rows'), world, early);
    const reactors = await soundReactors(join(base, 'reactors'), world, early);
    const worldFile = join(base, 'world.json');
    writeFileSync(worldFile, JSON.stringify({ early: world.slice(0, early), late: world.slice(early), questions }));
    for (let next = from; next < from + count; ) {
      scene.goOn();
      const inner = join(base, 'cycles');
      const cases = Array.from({ length: Math.min(AT_ONCE, from + count - next) }, (_, i) =>
        caseOf({
          dir: join(inner, `${next + i}`),
          cycle: next + i,
          random: seeded(seed, next + i),
          rows,
          reactors,
          canary,
        }),
      );
      next += cases.length;
      const outcomes = await askEach(
        worldFile,
        cases.map(({ task }) => task),
      );
      for (const [i, { name, task, isHarmless }] of cases.entries()) {
        const outcome = outcomes[i]!;
        const lies = 'killed' in outcome ? [`the process was killed: ${outcome.killed}`] : liesIn(outcome, truth);
        for (const lie of lies) complain(figures, `${name}: ${lie}`);
        figures.lost += lies.length > 0 ? 1 : 0;
        if ('told' in outcome) seen[outcome.told.length > 0 ? 'told' : 'not told']++;
        if (isHarmless && 'told' in outcome && outcome.told.length > 0)
          complain(figures, `${name}: nothing is damaged, and it says ${outcome.told}`);
        keep(task.dir, name, lies.length > 0);
        figures.cycles++;
      }
      rmSync(inner, { recursive: true, force: true });
    }
  } finally {
    await scene.end();
  }
  figures.notes.push(`${seen.told} made again, ${seen['not told']} harmless`);
};

interface Case {
  readonly task: Task;
  readonly name: string;
  readonly isHarmless: boolean;
}

/** The sixth kind is the reactors' file, the seventh is a row that is served, the first of all is no damage. */
const caseOf = (parts: {
  readonly dir: string;
  readonly cycle: number;
  readonly random: Random;
  readonly rows: Sound;
  readonly reactors: Sound;
  readonly canary: boolean;
}): Case => {
  const { dir, cycle, random, rows, reactors, canary } = parts;
  const what = canary ? 'unprotected' : cycle % 6 === 5 ? 'reactors' : 'models';
  const sound = what === 'reactors' ? reactors : rows;
  const isHarmless = cycle % 50 === 0 && !canary;
  const isServed = !isHarmless && what === 'models' && cycle % 7 === 6;
  const damaged = damageRows(sound.file, sound.older, random, cycle);
  const isKilled = !damaged.needsSeal && random.next() < 0.5;
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'data.mdb'), isHarmless || isServed ? sound.file : damaged.bytes);
  if (!isKilled) writeFileSync(join(dir, 'data.sums'), sound.sums);
  const { at, length } = random.pick(placesOfRows(sound.file));
  const flip = { at: random.between(at, at + length - 1), bit: 1 << random.between(0, 7) };
  const how = isHarmless
    ? 'no damage'
    : isServed
      ? `flipped bit in a row that is served, byte ${flip.at}`
      : damaged.what;
  return {
    task: { dir, what, flip: isServed ? flip : undefined },
    name: `cycle ${cycle} (${what}, ${how}, ${isKilled ? 'killed' : 'closed'})`,
    isHarmless,
  };
};

/** What is wrong with what was answered. */
const liesIn = (outcome: Outcome, { early, all, due }: Truth): string[] => {
  if ('refused' in outcome) return [`it does not start: ${outcome.refused}`];
  if ('seen' in outcome) {
    const passedOver = due.filter((position) => !outcome.seen.includes(position));
    return passedOver.length > 0 ? [`the reactor has passed over the events at ${passedOver}`] : [];
  }
  return Object.entries(outcome.rounds).flatMap(([round, answers]) => {
    const isLater = round === 'later' || round === 'opened again';
    const mayBeAbsent = round === 'at once' || round === 'while it is served';
    return Object.entries(isLater ? all : early).flatMap(([question, wanted]) => {
      const answer = answers[question];
      if (answer === wanted || (mayBeAbsent && answer === absent)) return [];
      return [`${round}: ${question} is ${answer?.slice(0, 300)} instead of ${wanted.slice(0, 300)}`];
    });
  });
};

const keep = (dir: string, name: string, isWrong: boolean): void => {
  const folder = process.env.TORTURE_KEEP;
  if (folder && isWrong) cpSync(dir, join(folder, name.replace(/[^\w]+/g, '-')), { recursive: true });
};
