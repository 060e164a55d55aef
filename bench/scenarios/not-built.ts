import { type BarRule, notYet } from '../report/bar.ts';
import type { Scenario } from './scenario.ts';

const policies: BarRule = {
  id: 'policies',
  title: 'POST /v1/messages with policies in force, CPU beside without',
  unit: '×',
  atMost: 1.1,
};
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
  about: ['Policies do not act on requests, and there is one worker: their scenarios come with them.'],
  run: () =>
    Promise.resolve({
      rounds: null,
      barsOf: () => [notYet(policies, 'no scenario measures it'), notYet(failover, 'there are no workers yet')],
    }),
};
