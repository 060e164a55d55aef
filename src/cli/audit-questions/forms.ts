import { InvalidArgumentError } from 'commander';
import { auditTypes } from '../../audit/entry.ts';
import { timeOfId } from '../../ids.ts';
import type { Actor } from '../../kernel/store/store.ts';
import { printable, UsageError } from '../terminal.ts';
import { logTypes } from './log-entries.ts';

const isIdOf = (kinds: string, text: string): boolean =>
  timeOfId(text) !== null && new RegExp(`^(${kinds})_`).test(text);

const checked = (option: string, kinds: string, forms: string) => (text: string) => {
  if (!isIdOf(kinds, text)) throw new UsageError(`${option}: ${printable(text)} is none of ${forms}.`);
};

const checks = {
  project: checked('--project', 'proj', 'proj_…'),
  resource: checked('--resource', 'org|proj|key|akey|pol|oac', 'org_…, proj_…, key_…, akey_…, pol_… and oac_…'),
  request: checked('--request', 'req', 'req_…'),
};

/** @throws UsageError if an id has the wrong form */
export const checkForms = (query: { readonly [K in keyof typeof checks]?: readonly string[] }): void => {
  for (const name of ['project', 'resource', 'request'] as const)
    for (const text of query[name] ?? []) checks[name](text);
};

const credential = /^(akey|key|oac|oat)_/;
const operator = /^operator:(.+)$/su;

/** A credential, or an operator by OS user or `--actor`. */
export interface Who {
  /** Null for an operator, who is matched by name. */
  readonly id: string | null;
  readonly name: string;
  readonly isMeant: (actor: Actor) => boolean;
}

/** Parses `akey_…`, `key_…`, `oac_…`, `oat_…`, `operator:NAME` or a bare name. */
export const whoIs = (text: string): Who => {
  if (credential.test(text)) return { id: text, name: text, isMeant: ({ id }) => id === text };
  const name = operator.exec(text)?.[1] ?? text;
  const isMeant = (actor: Actor): boolean =>
    (actor.type === 'operator' || actor.type === 'system') && (actor.id === name || actor.name === name);
  return { id: null, name, isMeant };
};

/** Types whose name in the audit log differs from the event log's (contract C.1). */
const entryNames: Readonly<Record<string, string>> = {
  'project.models_allowed': 'project.updated',
  'project.models_aliased': 'project.updated',
  'project.model_permissions_updated': 'model_permissions.updated',
  'project.rate_limit_updated': 'rate_limit.updated',
  'project_key.limits_updated': 'rate_limit.updated',
  'organization.spend_limited': 'spend_limit.updated',
  'project.spend_limited': 'spend_limit.updated',
  'project_key.spend_limited': 'spend_limit.updated',
  'project_key.created': 'api_key.created',
  'project_key.updated': 'api_key.updated',
  'project_key.rotated': 'api_key.rotated',
  'project_key.suspended': 'api_key.suspended',
  'project_key.reactivated': 'api_key.reactivated',
  'project_key.expired': 'api_key.expired',
  'project_key.revoked': 'api_key.deleted',
  'project_key.value_replayed': 'api_key.value_replayed',
  'admin_key.created': 'admin_api_key.created',
  'admin_key.deleted': 'admin_api_key.deleted',
  'admin_key.value_replayed': 'api_key.value_replayed',
};

/** Accepts either name. @throws InvalidArgumentError */
export const entryType = (text: string): string => {
  const type = entryNames[text] ?? text;
  if (auditTypes.some((known) => known === type) || logTypes.includes(type)) return type;
  throw new InvalidArgumentError(`Give one of ${[...auditTypes, ...logTypes].join(', ')}.`);
};
