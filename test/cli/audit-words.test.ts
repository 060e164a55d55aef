// Lane: fast: starts no process
import { expect, test } from 'vitest';
import type { AuditRow } from '../../projections/audit-log.ts';
import type { Past } from '../../src/audit/past.ts';
import { entryPage } from '../../src/cli/audit-questions/entry-page.ts';
import { changeOf, textOf } from '../../src/cli/audit-questions/words.ts';

const when = String;

test.each([
  ['allowedModels', null, 'all'],
  ['allowedModels', [], 'none'],
  ['allowedModels', ['gpt'], 'gpt'],
  ['deniedModels', null, 'none'],
  ['expiresAt', null, 'never'],
])('%s of %j is %s', (field, value, text) => {
  expect(textOf(field, value, when)).toBe(text);
});

test.each([
  ['allowedModels', null, [], 'all → none'],
  ['allowedModels', ['gpt'], null, 'gpt → all'],
  // Not only one more: the project could call all before.
  ['allowedModels', null, ['gpt'], 'all → gpt'],
  ['allowedModels', ['gpt'], ['gpt', 'qwen'], '+ qwen'],
  ['deniedModels', null, ['gpt'], '+ gpt'],
])('%s from %j to %j is %s', (field, from, to, text) => {
  expect(changeOf(field, from, to, when)).toBe(text);
});

const past = { at: async () => undefined, life: async () => undefined } as unknown as Past;
const row = (allowed_models: readonly string[] | null) =>
  ({
    id: 'audit_1',
    at: 0,
    type: 'project.updated',
    resourceId: 'proj_1',
    projectId: 'proj_1',
    actor: { type: 'system', id: 'test' },
    ip: null,
    requestId: null,
    changesRequested: { allowed_models },
  }) as unknown as AuditRow;

test.each([
  [null, 'all'],
  [[], 'none'],
])('an entry of the audit log shows allowed_models %j as %s', async (allowed, text) => {
  expect(await entryPage(past, row(allowed), 80, when)).toMatch(new RegExp(`new allowed_models +${text}\n`));
});
