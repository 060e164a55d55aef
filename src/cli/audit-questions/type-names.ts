import { InvalidArgumentError } from 'commander';
import { auditTypes } from '../../audit/entry.ts';
import { logTypes } from './log-entries.ts';

/** Types whose name in the audit log differs from the event log's (contract C.1). */
const entryNames: Readonly<Record<string, string>> = {
  'project.models_allowed': 'project.updated',
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
