import { expect, test } from 'vitest';
import { whoStands } from '../../src/app/standing.ts';
import { IllegalEvent } from '../../src/kernel/aggregate/aggregate.ts';
import { CorruptStream } from '../../src/kernel/aggregate/fold.ts';
import { StoreDamaged } from '../../src/kernel/store/store.ts';

const at = { stream: 'project-proj_1', revision: 7 };

test('nothing is said while all followers go on', () => {
  expect(whoStands([])).toBeUndefined();
  expect(whoStands()).toBeUndefined();
});

test.each([
  [
    new IllegalEvent('project', 'archived', 'project.updated'),
    'project is archived and does not admit project.updated',
  ],
  [
    new CorruptStream('project-proj_2', 3, 'project.updated', 'why'),
    'project-proj_2 is corrupt at revision 3 (project.updated): why',
  ],
  [new StoreDamaged('Event 3 at /somewhere'), 'a record of the event store is damaged'],
  [new TypeError('a word of somebody else'), 'it fails, and the log says how'],
])('a follower that stands still is named with its event and the reason: %s', (error, reason) => {
  expect(whoStands([{ follower: 'projects', at, error }])).toBe(
    `projects stands still at revision 7 of project-proj_1: ${reason}`,
  );
});

test('several are told one after another, those without an event too', () => {
  const error = new StoreDamaged('here');
  expect(
    whoStands([
      { follower: 'a', error },
      { follower: 'b', at, error },
    ]),
  ).toBe(
    'a stands still: a record of the event store is damaged; ' +
      'b stands still at revision 7 of project-proj_1: a record of the event store is damaged',
  );
});
