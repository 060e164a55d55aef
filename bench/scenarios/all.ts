import { addedLatency } from './added.ts';
import { admin1e6 } from './admin-1e6.ts';
import { adminMix } from './admin-mix.ts';
import { otherApis } from './apis.ts';
import { audit } from './audit.ts';
import { concTruth } from './conc-truth.ts';
import { hello } from './hello.ts';
import { largeBodies } from './large-bodies.ts';
import { limiter } from './limiter.ts';
import { limitsInside } from './limits-inside.ts';
import { messages } from './messages.ts';
import { models } from './models.ts';
import { notBuilt } from './not-built.ts';
import { openLoop } from './open-loop.ts';
import { policies } from './policies.ts';
import { rejectFlood } from './reject-flood.ts';
import type { Scenario } from './scenario.ts';
import { soak } from './soak.ts';
import { store } from './store.ts';
import { store1e6 } from './store-1e6.ts';
import { stream } from './stream.ts';
import { windowTruth } from './window-truth.ts';
import { zipf1e5, zipf1e6 } from './zipf.ts';

/** Every scenario there is, in the order of a report. */
export const scenarios: readonly Scenario[] = [
  hello,
  models,
  openLoop,
  messages,
  otherApis,
  policies,
  addedLatency,
  stream,
  largeBodies,
  rejectFlood,
  adminMix,
  admin1e6,
  windowTruth,
  concTruth,
  zipf1e5,
  zipf1e6,
  limiter,
  limitsInside,
  store,
  store1e6,
  audit,
  soak,
  notBuilt,
];

/** @throws Error naming those there are */
export const scenarioNamed = (id: string): Scenario => {
  const found = scenarios.find((scenario) => scenario.id === id);
  if (!found)
    throw new Error(`There is no scenario "${id}"; there are ${scenarios.map((each) => each.id).join(', ')}.`);
  return found;
};
