import { type Contender, measureRounds } from '../measure.ts';
import { bareContender, closedPlan, contender } from './plans.ts';
import { messageRequest, modelsRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { inProcess, weirUnderLoad } from './weir-under-load.ts';

/** What the gate watches: the gateway's own part of its two hot routes, beside bare uWebSockets.js. */
export const gateScenario: Scenario = {
  id: 'gate',
  title: 'The hot routes beside bare uWebSockets.js',
  about: ['GET /v1/models, and POST /v1/messages on a model that Weir simulates itself, in a closed loop.'],
  async run(stage) {
    const { weir, keys } = await weirUnderLoad(stage);
    const target = { ...weir, keys };
    const message = messageRequest({ model: inProcess, bodyBytes: 600, maxTokens: 64, stream: false });
    const contenders: Contender[] = [
      await bareContender(stage),
      contender('models', 'Weir, GET /v1/models', target, closedPlan(stage, modelsRequest)),
      contender('messages-own', 'Weir, POST /v1/messages, own part', target, closedPlan(stage, message)),
    ];
    return { ...(await measureRounds(stage, contenders, stage.settings)), rounds: stage.settings.rounds };
  },
};
