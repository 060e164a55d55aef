import { measureRounds } from '../measure.ts';
import { bareContender, closedPlan, contender } from './plans.ts';
import { helloRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';

export const hello: Scenario = {
  id: 'hello',
  title: 'A fixed reply: the unit of the whole bench',
  about: ['GET / answered with five bytes, by bare uWebSockets.js (the unit, 1.00) and by node:http.'],
  async run(stage) {
    const bare = await bareContender(stage);
    const target = await stage.server('node-http', 'node:http', new URL('../peers/node-hello.ts', import.meta.url));
    const contenders = [bare, contender('node-http', 'node:http', target, closedPlan(stage, helloRequest))];
    return { ...(await measureRounds(stage, contenders, stage.settings)), rounds: stage.settings.rounds };
  },
};
