import { type BarRule, notYet } from '../report/bar.ts';
import type { Scenario } from './scenario.ts';

const failover: BarRule = {
  id: 'failover',
  title: 'slots of a killed worker are free again',
  unit: 's',
  atMost: 1,
  isStrict: true,
};

/** Bars of parts that are not there: said, so that nobody takes silence for a pass. */
export const notBuilt: Scenario = {
  id: 'not-built',
  title: 'What cannot be measured yet',
  about: ['There is one worker: its scenario comes with others.'],
  run: () => Promise.resolve({ rounds: null, barsOf: () => [notYet(failover, 'there are no worker processes yet')] }),
};
