import { type Contender, measureRounds } from '../measure.ts';
import type { Stage } from '../stage.ts';
import { bareContender, closedPlan, contender } from './plans.ts';
import { messageRequest, modelsRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { inProcess, weirUnderLoad } from './weir-under-load.ts';

/** Whose cost is judged, by the names of their contenders. */
export const judged = { models: 'models', messages: 'messages-own' } as const;

/** What the same contender of the former build is called. */
export const formerOf = (name: string): string => `${name}-before`;

const contendersOf = async (stage: Stage, main?: string): Promise<Contender[]> => {
  const { weir, keys } = await weirUnderLoad(stage, main === undefined ? {} : { main });
  const target = { ...weir, keys };
  const message = messageRequest({ model: inProcess, bodyBytes: 600, maxTokens: 64, stream: false });
  const [name, when] = main === undefined ? [(id: string) => id, ''] : [formerOf, ', before'];
  return [
    contender(name(judged.models), `Weir, GET /v1/models${when}`, target, closedPlan(stage, modelsRequest)),
    contender(name(judged.messages), `Weir, POST /v1/messages, own part${when}`, target, closedPlan(stage, message)),
  ];
};

/**
 * What the gate watches: the gateway's own part of its two hot routes, beside bare uWebSockets.js and, where there is a
 * build of the baseline's commit, beside that. Its cost follows the caches that others leave it, so that on a shared
 * machine the ratio to the bare server changes by a fifth within minutes; two builds of Weir feel the same.
 * @param former the entry of that build
 */
export const gateScenario = (former: string | null): Scenario => ({
  id: 'gate',
  title: 'The hot routes beside bare uWebSockets.js and the build before',
  about: ['GET /v1/models, and POST /v1/messages on a model that Weir simulates itself, in a closed loop.'],
  async run(stage) {
    const now = await contendersOf(stage);
    const before = former === null ? [] : await contendersOf(stage, former);
    // What is compared runs one after the other.
    const pairs = now.flatMap((each, i) => [each, ...before.slice(i, i + 1)]);
    const contenders = [await bareContender(stage), ...pairs];
    return { ...(await measureRounds(stage, contenders, stage.settings)), rounds: stage.settings.rounds };
  },
});
