import { describe, test } from 'vitest';
import { maxLiveKeys, type ProjectEvent, project } from '../../src/domain/project/project.ts';
import { given } from '../support/given.ts';

const created: ProjectEvent = { type: 'project.created', organization_id: 'org_1', name: 'One', created_at: 5 };
const archived: ProjectEvent = { type: 'project.archived', archived_at: 9 };
const issued = (n: number): ProjectEvent => ({ type: 'project.key_issued', key_id: `key_${n}` });
const ended = (n: number): ProjectEvent => ({ type: 'project.key_ended', key_id: `key_${n}` });
const issuedUpTo = (n: number): ProjectEvent[] => Array.from({ length: n }, (_, i) => issued(i));

describe('create', () => {
  test('makes an active project', () => {
    given(project, [])
      .when('create', { organizationId: 'org_1', name: 'One', at: 5 })
      .then([created])
      .leaves({ status: 'active', data: { name: 'One', organizationId: 'org_1', createdAt: 5, archivedAt: null } });
  });
  test('refuses a second creation', () => {
    given(project, [created])
      .when('create', { organizationId: 'org_1', name: 'Two', at: 6 })
      .refuses({ status: 'active' });
  });
});

test('createOnce makes it, or finds it whatever has become of it since', () => {
  const input = { organizationId: 'org_1', name: 'One', at: 5 };
  given(project, []).when('createOnce', input).then([created]);
  given(project, [created]).when('createOnce', input).then([]);
  given(project, [created, archived]).when('createOnce', input).then([]);
  given(project, [created])
    .when('createOnce', { ...input, organizationId: 'org_2' })
    .refuses({ status: 'active' });
});

describe('rename', () => {
  test('changes the name', () => {
    given(project, [created])
      .when('update', { name: 'Two' })
      .then([{ type: 'project.updated', name: 'Two' }])
      .leaves({ data: { name: 'Two' } });
  });
  test('to the same name changes nothing', () => {
    given(project, [created]).when('update', { name: 'One' }).then([]);
  });
  test('refuses an archived project, also for its own name', () => {
    given(project, [created, archived]).when('update', { name: 'Two' }).refuses({ status: 'archived' });
    given(project, [created, archived]).when('update', { name: 'One' }).refuses({ status: 'archived' });
  });
});

describe('the models that a project may use', () => {
  const allowed = (models: readonly string[] | null): ProjectEvent => ({ type: 'project.models_allowed', models });
  test('change, beside the name or alone', () => {
    given(project, [created])
      .when('update', { allowedModels: ['a'] })
      .then([allowed(['a'])])
      .leaves({ data: { allowedModels: ['a'], name: 'One' } });
    given(project, [created])
      .when('update', { name: 'Two', allowedModels: ['a'] })
      .then([{ type: 'project.updated', name: 'Two' }, allowed(['a'])]);
    given(project, [created, allowed(['a'])])
      .when('update', { allowedModels: null })
      .then([allowed(null)])
      .leaves({ data: { allowedModels: null } });
  });
  test('do not where they are the same', () => {
    given(project, [created]).when('update', { allowedModels: null }).then([]);
    given(project, [created, allowed(['a', 'b'])])
      .when('update', { allowedModels: ['a', 'b'] })
      .then([]);
    given(project, [created, allowed(['a', 'b'])])
      .when('update', { allowedModels: ['b', 'a'] })
      .then([allowed(['b', 'a'])]);
    given(project, [created]).when('update', {}).then([]);
  });
  test('stay those of an archived project', () => {
    given(project, [created, archived]).when('update', { allowedModels: null }).refuses({ status: 'archived' });
  });
});

describe('the model permissions of a project', () => {
  const permitted = (mode: 'allow_list' | 'deny_list', ...models: string[]): ProjectEvent => ({
    type: 'project.model_permissions_updated',
    mode,
    models,
  });
  const deny = (...models: string[]) => ({ mode: 'deny_list', models }) as const;
  const allow = (...models: string[]) => ({ mode: 'allow_list', models }) as const;
  test('are one truth with the models that it may use', () => {
    given(project, [created])
      .when('permitModels', deny('a'))
      .then([permitted('deny_list', 'a')])
      .leaves({ data: { allowedModels: null, deniedModels: ['a'] } });
    given(project, [created, permitted('deny_list', 'a')])
      .when('permitModels', allow('b'))
      .then([permitted('allow_list', 'b')])
      .leaves({ data: { allowedModels: ['b'], deniedModels: null } });
    given(project, [created, permitted('deny_list', 'a')])
      .when('update', { allowedModels: ['b'] })
      .then([{ type: 'project.models_allowed', models: ['b'] }])
      .leaves({ data: { allowedModels: ['b'], deniedModels: null } });
    given(project, [created, permitted('deny_list', 'a')])
      .when('update', { allowedModels: null })
      .then([{ type: 'project.models_allowed', models: null }])
      .leaves({ data: { allowedModels: null, deniedModels: null } });
    given(project, [created, { type: 'project.models_allowed', models: ['b'] }])
      .when('permitModels', deny('b'))
      .then([permitted('deny_list', 'b')])
      .leaves({ data: { allowedModels: null, deniedModels: ['b'] } });
  });
  test('that deny nothing allow all, and an empty list of what is allowed does not', () => {
    given(project, [created, permitted('deny_list', 'a')])
      .when('permitModels', deny())
      .then([permitted('deny_list')])
      .leaves({ data: { allowedModels: null, deniedModels: null } });
    given(project, [created])
      .when('permitModels', allow())
      .then([permitted('allow_list')])
      .leaves({ data: { allowedModels: [], deniedModels: null } });
  });
  test('do not change where they are the same', () => {
    given(project, [created]).when('permitModels', deny()).then([]);
    given(project, [created, permitted('deny_list', 'a')])
      .when('permitModels', deny('a'))
      .then([]);
    given(project, [created, { type: 'project.models_allowed', models: ['a'] }])
      .when('permitModels', allow('a'))
      .then([]);
  });
  test('stay those of an archived project', () => {
    given(project, [created, archived]).when('permitModels', deny()).refuses({ status: 'archived' });
  });
});

describe('the spend limit of a project', () => {
  const limit = { amount: 5_000_000, interval: 'month' } as const;
  const limited = (to: typeof limit | null): ProjectEvent => ({ type: 'project.spend_limited', limit: to });
  test('is set, replaced and taken away', () => {
    given(project, [created])
      .when('limitSpend', { limit })
      .then([limited(limit)])
      .leaves({ data: { spendLimit: limit } });
    const more = { ...limit, amount: 6_000_000 };
    given(project, [created, limited(limit)])
      .when('limitSpend', { limit: more })
      .then([{ type: 'project.spend_limited', limit: more }]);
    given(project, [created, limited(limit)])
      .when('limitSpend', { limit: null })
      .then([limited(null)])
      .leaves({ data: { spendLimit: null } });
  });
  test('does not change where it is the same, and is missing where there is none', () => {
    given(project, [created, limited(limit)])
      .when('limitSpend', { limit: { ...limit } })
      .then([]);
    const missing = { refusal: { code: 'spend_limit_not_found' } };
    given(project, [created]).when('limitSpend', { limit: null }).refuses(missing);
    given(project, [created, limited(limit), limited(null)])
      .when('limitSpend', { limit: null })
      .refuses(missing);
  });
  test('stays that of an archived project', () => {
    for (const to of [limit, null])
      given(project, [created, limited(limit), archived])
        .when('limitSpend', { limit: to })
        .refuses({ status: 'archived' });
  });
});

describe('the aliases of models', () => {
  const aliased = (aliases: Readonly<Record<string, string>>): ProjectEvent => ({
    type: 'project.models_aliased',
    aliases,
  });
  const isModel = (id: string) => id === 'm';
  test('are replaced as a whole, beside the others or alone', () => {
    given(project, [created, aliased({ x: 'm' })])
      .when('update', { modelAliases: { y: 'm', 'z-*': 'n' }, isModel })
      .then([aliased({ y: 'm', 'z-*': 'n' })])
      .leaves({ data: { modelAliases: { y: 'm', 'z-*': 'n' }, name: 'One' } });
    given(project, [created])
      .when('update', { name: 'Two', allowedModels: [], modelAliases: { y: 'm' }, isModel })
      .then([
        { type: 'project.updated', name: 'Two' },
        { type: 'project.models_allowed', models: [] },
        aliased({ y: 'm' }),
      ]);
  });
  test('are not where they are the same, in whatever order', () => {
    given(project, [created]).when('update', { modelAliases: {}, isModel }).then([]);
    given(project, [created, aliased({ x: 'm', y: 'n' })])
      .when('update', { modelAliases: { y: 'n', x: 'm' }, isModel })
      .then([]);
    given(project, [created, aliased({ x: 'm' })])
      .when('update', { modelAliases: { x: 'n' }, isModel })
      .then([aliased({ x: 'n' })]);
    given(project, [created, aliased({ x: 'm' })])
      .when('update', { modelAliases: { y: 'm' }, isModel })
      .then([aliased({ y: 'm' })]);
  });
  test('are refused where one is the id of a model', () => {
    given(project, [created])
      .when('update', { modelAliases: { x: 'n', m: 'n' }, isModel })
      .refuses({ refusal: { code: 'model_alias_taken', param: 'model_aliases' } });
    given(project, [created, archived])
      .when('update', { modelAliases: { m: 'n' }, isModel })
      .refuses({ status: 'archived' });
  });
});

describe('archive', () => {
  test('archives and keeps the time', () => {
    given(project, [created])
      .when('archive', { at: 9 })
      .then([archived])
      .leaves({ status: 'archived', data: { archivedAt: 9 } });
  });
  test('changes nothing the second time', () => {
    given(project, [created, archived]).when('archive', { at: 10 }).then([]);
  });
  test('refuses what never was', () => {
    given(project, []).when('archive', { at: 9 }).refuses({ status: 'absent' });
  });
});

describe('issueKey', () => {
  test('admits a key', () => {
    given(project, [created])
      .when('issueKey', { keyId: 'key_1' })
      .then([issued(1)]);
  });
  test('admits the same key once', () => {
    given(project, [created, issued(1)])
      .when('issueKey', { keyId: 'key_1' })
      .then([]);
  });
  test('refuses an archived project', () => {
    given(project, [created, archived]).when('issueKey', { keyId: 'key_1' }).refuses({ status: 'archived' });
  });
  test('admits the last of the 1,000 and refuses one more', () => {
    const full = [created, ...issuedUpTo(maxLiveKeys - 1)];
    given(project, full)
      .when('issueKey', { keyId: 'key_last' })
      .then([{ type: 'project.key_issued', key_id: 'key_last' }]);
    given(project, [...full, issued(maxLiveKeys - 1)])
      .when('issueKey', { keyId: 'key_more' })
      .refuses({ refusal: { code: 'api_key_limit_reached' } });
  });
  test('has room again when a key has ended', () => {
    given(project, [created, ...issuedUpTo(maxLiveKeys), ended(7)])
      .when('issueKey', { keyId: 'key_more' })
      .then([{ type: 'project.key_issued', key_id: 'key_more' }]);
  });
  test('refuses a full project that is archived for being archived', () => {
    given(project, [created, ...issuedUpTo(maxLiveKeys), archived])
      .when('issueKey', { keyId: 'key_more' })
      .refuses({ status: 'archived' });
  });
});

describe('endKeys', () => {
  test('ends the live keys that have ended elsewhere, and no other', () => {
    const hasEnded = (keyId: string) => keyId !== 'key_1';
    given(project, [created, issued(1), issued(2), issued(3), ended(3)])
      .when('endKeys', { hasEnded })
      .then([ended(2)]);
    given(project, [created, issued(1)])
      .when('endKeys', { hasEnded })
      .then([]);
  });
});

describe('endKey', () => {
  test('ends a live key, in an archived project too', () => {
    given(project, [created, issued(1)])
      .when('endKey', { keyId: 'key_1' })
      .then([ended(1)]);
    given(project, [created, issued(1), archived])
      .when('endKey', { keyId: 'key_1' })
      .then([ended(1)]);
  });
  test('of a key that is not live changes nothing', () => {
    given(project, [created]).when('endKey', { keyId: 'key_1' }).then([]);
  });
});
