import type { RequestPlan } from '../gen/requests.ts';
import type { Contender, HttpPlan, Purpose } from '../measure.ts';
import type { Stage } from '../stage.ts';
import { addressOf, type Target } from '../target.ts';
import { helloRequest } from './requests.ts';

const timeoutMs = 10_000;

/** As much as it takes, every answer a 200. */
export const closedPlan = ({ settings }: Stage, request: RequestPlan, more: Partial<HttpPlan> = {}): HttpPlan => ({
  requests: [request],
  connections: settings.connections,
  arrivals: { is: 'closed' },
  expected: 200,
  timeoutMs,
  seed: settings.seed,
  ...more,
});

export const contender = (
  name: string,
  label: string,
  target: Target,
  plan: HttpPlan,
  unit: string | null = 'hello',
  purpose: Purpose = 'work',
): Contender => ({ name, label, purpose, unit, target, plan });

/** The unit of the whole bench. */
export const bareContender = async (stage: Stage): Promise<Contender> =>
  contender('hello', 'bare uWebSockets.js', await stage.bare(), closedPlan(stage, helloRequest), null);

/** The gateways at an address, with the one request that they are all sent; there is no CPU time of them. */
export const otherTargets = ({ settings }: Stage): readonly Target[] =>
  settings.others.map(({ name, url }) => ({
    name,
    address: addressOf(url),
    pid: null,
    keys: { keys: [settings.otherKey], zipf: 0 },
    lost: () => undefined,
  }));
