/** The simulated model as a process of the harness: started by its first question, asked for its totals by the next. */
import { serveParent } from '../machine/parent.ts';
import type { Behaviour } from './behaviour.ts';
import { type Sim, startSim } from './server.ts';

export interface SimOrder {
  readonly behaviour: Behaviour;
}

let sim: Sim | undefined;

serveParent(async (question) => {
  if (sim === undefined) {
    const { behaviour } = question as SimOrder;
    sim = await startSim({ host: '127.0.0.1', port: 0, behaviour });
  }
  return { port: sim.port, totals: sim.totals() };
});
