import { setTimeout as wait } from 'node:timers/promises';
import { type Random, seeded } from '../random.ts';
import { anyPlan, Connection, type Target } from './connection.ts';
import { type Asked, anyFrames, anyPipeline, anyScrapes } from './pipelines.ts';
import type { Site } from './site.ts';

/** Connections that send at once, and those that wait beside them for what may come. */
const [width, most] = [24, 48];

/** The longest wait for the answers to whole requests. */
const answerMs = 60_000;

export interface Attacks {
  /** Resolves once so many connections have been made, or it is over. */
  run(from: number, count: number): Promise<void>;
  /** Ends those that wait. */
  leave(): void;
  readonly made: number;
  readonly answers: number;
}

/** Connections of attackers, each decided by its number. */
export const attack = (
  site: Pick<Site, 'listener' | 'metrics' | 'store' | 'attackers'>,
  seed: number,
  isOver: () => boolean,
  complain: (what: string) => void,
): Attacks => {
  const staying: Connection[] = [];
  let made = 0;
  let answers = 0;
  let question = 0;

  const aim = (random: Random): { target: Target; text: string; asked?: Asked[] } => {
    const dice = random.next();
    if (dice < 0.04) return { target: site.store, text: anyFrames(random) };
    const isScrape = dice < 0.08;
    const asked = isScrape ? anyScrapes(random, site.attackers) : anyPipeline(random, site.attackers, () => question++);
    return {
      target: isScrape ? site.metrics : site.listener,
      text: asked.map(({ text }) => text).join(''),
      asked,
    };
  };

  const one = async (n: number): Promise<void> => {
    const random = seeded(seed, n);
    const { target, text, asked } = aim(random);
    const plan = anyPlan(random, text);
    const where = () => `connection ${n} (${plan.end}, ${asked?.length ?? 'frames'})`;
    const connection = new Connection(target, plan, asked, random, (what) => complain(`${where()}: ${what}`));
    const state = await connection.run();
    if (state === 'reads' && asked !== undefined && !asked.some(({ isTorn }) => isTorn)) {
      await Promise.race([connection.answered, wait(answerMs, undefined, { ref: false })]);
      const open = connection.isOpen;
      if (open !== undefined && !isOver()) complain(`${where()}: ${open}, is not answered`);
      connection.letGo();
    } else if (state !== 'over') {
      staying.push(connection);
      if (staying.length > most) staying.shift()!.letGo();
    }
    answers += connection.answers;
    made++;
  };

  return {
    async run(from, count) {
      let next = from;
      const worker = async (): Promise<void> => {
        while (next < from + count && !isOver()) await one(next++);
      };
      await Promise.all(Array.from({ length: width }, worker));
    },
    leave() {
      for (const each of staying.splice(0)) each.letGo();
    },
    get made() {
      return made;
    },
    get answers() {
      return answers;
    },
  };
};
