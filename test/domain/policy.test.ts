import { describe, expect, test } from 'vitest';
import { hasUnpublishedChanges, policy, policyState } from '../../src/domain/policy/policy.ts';
import type { Policy, PolicyEvent } from '../../src/domain/policy/policy-events.ts';
import { defaultTerms, edited, fieldsOf, type Terms, type TermsFields } from '../../src/domain/policy/policy-terms.ts';
import { IllegalEvent, type State } from '../../src/kernel/aggregate/aggregate.ts';
import { given } from '../support/given.ts';

const terms: Terms = { ...defaultTerms, rule: 'true' };
const say = (fields: Partial<TermsFields> = {}): TermsFields => fieldsOf(edited(terms, fields));

const created: PolicyEvent = {
  type: 'policy.created',
  organization_id: 'org_1',
  name: 'One',
  description: '',
  ...say(),
  created_at: 10,
};
const updated = (fields: Partial<TermsFields>, at = 20): PolicyEvent => ({
  type: 'policy.updated',
  name: 'One',
  description: '',
  ...say(fields),
  updated_at: at,
});
const published = (version = 1, fields: Partial<TermsFields> = {}, at = 30): PolicyEvent => ({
  type: 'policy.published',
  version_id: `polv_${version}`,
  version,
  ...say(fields),
  published_at: at,
});
const paused: PolicyEvent = { type: 'policy.paused', paused_at: 40 };
const resumed: PolicyEvent = { type: 'policy.resumed', resumed_at: 50 };
const deleted: PolicyEvent = { type: 'policy.deleted', deleted_at: 60 };

/** Where a policy can stand, by the state that callers see, with its revision there. */
const histories = {
  draft: { events: [created], revision: 1 },
  monitoring: { events: [created, published()], revision: 2 },
  enforcing: {
    events: [created, updated({ mode: 'enforcing' }), published(1, { mode: 'enforcing' })],
    revision: 3,
  },
  paused: { events: [created, published(), paused], revision: 3 },
} as const;
type Visible = keyof typeof histories;
const all = Object.keys(histories) as Visible[];
const at = 99;

const conflict = (current: number) => ({
  refusal: { code: 'policy_revision_conflict', message: expect.stringContaining(`revision ${current},`) },
});
const refusalOf = (code: string) => ({ refusal: { code } });
const shownBy = (state: State<Policy>): string => policyState(state);
const standing = (events: readonly PolicyEvent[]): State<Policy> => given(policy, events).state;

describe('create', () => {
  const input = { organizationId: 'org_1', name: 'One', description: '', terms, at: 10 };
  test('makes a draft at revision 1 that is in force nowhere', () => {
    given(policy, [])
      .when('create', input)
      .then([created])
      .leaves({
        status: 'draft',
        data: { revision: 1, current: null, draft: terms, createdAt: 10, updatedAt: 10, pausedRevision: 0 },
      });
    expect(shownBy(standing([created]))).toBe('draft');
    expect(hasUnpublishedChanges(standing([created]).data)).toBe(true);
  });
  test('taken up again after a crash finds the policy, as it is by now', () => {
    given(policy, [created]).when('create', input).then([]);
    given(policy, histories.paused.events).when('create', input).then([]);
  });
  test('taken up again when the policy is deleted has no result to give', () => {
    given(policy, [created, deleted]).when('create', input).refuses(refusalOf('idempotency_result_unavailable'));
  });
});

describe('a stale revision', () => {
  const others = (revision: number) => [revision - 1, revision + 1, 1_000_000].filter((n) => n > 0);
  const changes = { changes: { name: 'Two' } };
  const commands = ['update', 'publish', 'pause', 'resume', 'delete'] as const;
  const cases = all.flatMap((state) => commands.map((command) => ({ state, command })));
  test.each(cases)('is a conflict before anything else: $command of $state', ({ state, command }) => {
    const { events, revision } = histories[state];
    for (const stale of others(revision)) {
      // The one revision besides the current that a pause may name: the one that the pause in effect was given.
      if (command === 'pause' && state === 'paused' && stale === revision - 1) continue;
      const input = { revision: stale, at, versionId: 'polv_x', ...changes };
      given(policy, events).when(command, input).refuses(conflict(revision));
    }
  });
});

describe('update', () => {
  test.each(all)('edits the draft of a %s policy and nothing that is in force', (state) => {
    const { events, revision } = histories[state];
    const before = standing(events);
    const fields = { ...fieldsOf(before.data.draft), rule: 'false' };
    given(policy, events)
      .when('update', { revision, changes: { rule: 'false', description: 'why' }, at })
      .then([{ type: 'policy.updated', name: 'One', description: 'why', ...fields, updated_at: at }])
      .leaves({
        status: before.status,
        data: { revision: revision + 1, updatedAt: at, current: before.data.current, description: 'why' },
      });
  });
  test('that changes nothing keeps the revision', () => {
    const changes = { name: 'One', description: '', ...say() };
    given(policy, [created])
      .when('update', { revision: 1, changes, at })
      .then([])
      .leaves({ data: { revision: 1 } });
    given(policy, [created]).when('update', { revision: 1, changes: {}, at }).then([]);
  });
  test('that names the same projects in another order changes nothing', () => {
    const history = [created, updated({ scope: 'project', project_ids: ['proj_1', 'proj_2'] })];
    given(policy, history)
      .when('update', { revision: 2, changes: { project_ids: ['proj_2', 'proj_1'] }, at })
      .then([]);
    given(policy, history)
      .when('update', { revision: 2, changes: { project_ids: ['proj_2'] }, at })
      .leaves({ data: { revision: 3 } });
  });
  test.each([
    { name: 'Two' },
    { description: 'more' },
    { rule: 'false' },
    { direction: 'response' },
    { mode: 'enforcing' },
    { scope: 'project', project_ids: ['proj_1'] },
    { match_threshold_basis_points: 1 },
  ] as const)('is a revision for a change of %o', (changes) => {
    given(policy, [created])
      .when('update', { revision: 1, changes, at })
      .leaves({ data: { revision: 2 } });
  });
  test('refuses a scope that does not go with the projects of the draft', () => {
    const misfit = { refusal: { code: 'validation_failed', param: 'project_ids' } };
    const about = updated({ scope: 'project', project_ids: ['proj_1'] });
    const update = (changes: Partial<TermsFields>, history: readonly PolicyEvent[]) =>
      given(policy, history).when('update', { revision: history.length, changes, at });
    update({ scope: 'project' }, [created]).refuses(misfit);
    update({ project_ids: ['proj_1'] }, [created]).refuses(misfit);
    update({ scope: 'organization' }, [created, about]).refuses(misfit);
    update({ project_ids: [] }, [created, about]).refuses(misfit);
    update({ scope: 'organization', project_ids: [] }, [created, about]).leaves({ data: { revision: 3 } });
  });
});

describe('publish', () => {
  test.each([
    ['draft', 'monitoring'],
    ['draft', 'enforcing'],
  ] as const)('puts a %s in force as its mode says: %s', (_, mode) => {
    const outcome = given(policy, [created, updated({ mode })]).when('publish', {
      revision: 2,
      versionId: 'polv_1',
      at,
    });
    outcome.then([published(1, { mode }, at)]).leaves({ status: 'live', data: { revision: 3, updatedAt: at } });
    expect(shownBy(standing([created, updated({ mode }), published(1, { mode })]))).toBe(mode);
  });
  test('makes the next version current and leaves nothing unpublished', () => {
    const history = [created, published(), updated({ rule: 'false', mode: 'enforcing' })];
    expect(hasUnpublishedChanges(standing(history).data)).toBe(true);
    expect(shownBy(standing(history))).toBe('monitoring');
    const second = published(2, { rule: 'false', mode: 'enforcing' }, at);
    given(policy, history).when('publish', { revision: 3, versionId: 'polv_2', at }).then([second]);
    const state = standing([...history, second]);
    expect(state.data.current).toEqual({
      id: 'polv_2',
      version: 2,
      publishedAt: at,
      ...terms,
      rule: 'false',
      mode: 'enforcing',
    });
    expect(hasUnpublishedChanges(state.data)).toBe(false);
    expect(shownBy(state)).toBe('enforcing');
  });
  test('while paused makes the version current and stays paused', () => {
    const history = [...histories.paused.events, updated({ mode: 'enforcing' })];
    given(policy, history)
      .when('publish', { revision: 4, versionId: 'polv_2', at })
      .then([published(2, { mode: 'enforcing' }, at)])
      .leaves({ status: 'paused', data: { revision: 5 } });
  });
  test.each(['monitoring', 'enforcing', 'paused'] as const)('without changes is refused: %s', (state) => {
    const { events, revision } = histories[state];
    given(policy, events)
      .when('publish', { revision, versionId: 'polv_2', at })
      .refuses(refusalOf('policy_no_unpublished_changes'));
  });
  test('has nothing to publish once the draft says again what is published', () => {
    const history = [created, published(), updated({ rule: 'false' }), updated({})];
    expect(hasUnpublishedChanges(standing(history).data)).toBe(false);
    given(policy, history)
      .when('publish', { revision: 4, versionId: 'polv_2', at })
      .refuses(refusalOf('policy_no_unpublished_changes'));
  });
  test('is not asked for by a change of the name', () => {
    const renamed: PolicyEvent = { ...updated({}), name: 'Two' } as PolicyEvent;
    expect(hasUnpublishedChanges(standing([created, published(), renamed]).data)).toBe(false);
  });
  test.each([
    ['rule', { rule: 'false' }],
    ['direction', { direction: 'response' }],
    ['mode', { mode: 'enforcing' }],
    ['scope and projects', { scope: 'project', project_ids: ['proj_1'] }],
    ['threshold', { match_threshold_basis_points: 4999 }],
  ] as const)('is asked for by a change of the %s', (_, fields) => {
    expect(hasUnpublishedChanges(standing([created, published(), updated(fields)]).data)).toBe(true);
  });
  test('is asked for by another set of projects, not by another order or a repetition', () => {
    const about = (project_ids: string[]) => ({ scope: 'project', project_ids }) as const;
    const history = (first: string[], then: string[]) => [created, published(1, about(first)), updated(about(then))];
    const changed = (first: string[], then: string[]) => hasUnpublishedChanges(standing(history(first, then)).data);
    expect(changed(['a', 'b'], ['b', 'a'])).toBe(false);
    expect(changed(['a', 'b'], ['a'])).toBe(true);
    expect(changed(['a'], ['a', 'b'])).toBe(true);
    expect(changed(['a', 'b'], ['a', 'c'])).toBe(true);
  });
});

describe('pause', () => {
  test.each(['monitoring', 'enforcing'] as const)('takes a %s policy out of force', (state) => {
    const { events, revision } = histories[state];
    given(policy, events)
      .when('pause', { revision, at })
      .then([{ type: 'policy.paused', paused_at: at }])
      .leaves({ status: 'paused', data: { revision: revision + 1, updatedAt: at, pausedRevision: revision } });
  });
  test('shows paused, also with a version that was published meanwhile', () => {
    expect(shownBy(standing(histories.paused.events))).toBe('paused');
    expect(shownBy(standing([...histories.paused.events, published(2, { mode: 'enforcing' })]))).toBe('paused');
  });
  test('of a paused policy changes nothing, at its revision and at the one that the pause was given', () => {
    for (const revision of [2, 3]) given(policy, histories.paused.events).when('pause', { revision, at }).then([]);
    given(policy, histories.paused.events).when('pause', { revision: 1, at }).refuses(conflict(3));
  });
  test('is still known after an edit, by the revision that it was given and by none in between', () => {
    const history = [...histories.paused.events, updated({ rule: 'false' })];
    given(policy, history).when('pause', { revision: 2, at }).then([]);
    given(policy, history).when('pause', { revision: 3, at }).refuses(conflict(4));
    given(policy, history).when('pause', { revision: 4, at }).then([]);
  });
  test('repeated after a resume is a conflict, so that a late repetition does not pause again', () => {
    const history = [...histories.paused.events, resumed];
    given(policy, history).when('pause', { revision: 2, at }).refuses(conflict(4));
    given(policy, history).when('pause', { revision: 3, at }).refuses(conflict(4));
    given(policy, history)
      .when('pause', { revision: 4, at })
      .leaves({ data: { pausedRevision: 4, revision: 5 } });
  });
  test('of a draft is refused: nothing is live', () => {
    given(policy, [created]).when('pause', { revision: 1, at }).refuses({ status: 'draft', name: 'IllegalEvent' });
  });
});

describe('resume', () => {
  test('brings back the current version, whatever the draft says', () => {
    const history = [...histories.paused.events, updated({ mode: 'enforcing', rule: 'false' })];
    given(policy, history)
      .when('resume', { revision: 4, at })
      .then([{ type: 'policy.resumed', resumed_at: at }])
      .leaves({ status: 'live', data: { revision: 5, updatedAt: at } });
    const state = standing([...history, resumed]);
    expect(shownBy(state)).toBe('monitoring');
    expect(state.data.current?.rule).toBe('true');
  });
  test('brings back what was published during the pause', () => {
    const history = [...histories.paused.events, published(2, { mode: 'enforcing' }), resumed];
    expect(shownBy(standing(history))).toBe('enforcing');
  });
  test.each(['draft', 'monitoring', 'enforcing'] as const)('is refused where nothing is paused: %s', (state) => {
    const { events, revision } = histories[state];
    given(policy, events).when('resume', { revision, at }).refuses(IllegalEvent);
  });
});

describe('delete', () => {
  test.each(['draft', 'paused'] as const)('ends a %s policy', (state) => {
    const { events, revision } = histories[state];
    given(policy, events)
      .when('delete', { revision, at })
      .then([{ type: 'policy.deleted', deleted_at: at }])
      .leaves({ status: 'deleted', data: { updatedAt: at } });
  });
  test.each(['monitoring', 'enforcing'] as const)('is refused while in force: %s', (state) => {
    const { events, revision } = histories[state];
    given(policy, events).when('delete', { revision, at }).refuses({ status: 'live', name: 'IllegalEvent' });
  });
  test('leaves nothing that a command could find, whatever revision it names', () => {
    const history = [...histories.paused.events, deleted];
    for (const revision of [1, 2, 3, 4, 5]) {
      for (const command of ['update', 'publish', 'pause', 'resume', 'delete'] as const) {
        const input = { revision, at, versionId: 'polv_x', changes: {} };
        given(policy, history).when(command, input).refuses(refusalOf('policy_not_found'));
      }
    }
  });
});

test('look changes nothing', () => {
  for (const state of all) given(policy, histories[state].events).when('look', undefined).then([]);
});
