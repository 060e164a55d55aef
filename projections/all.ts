import type { Projection } from '../src/kernel/projections/projection.ts';
import { adminKeys } from './admin-keys.ts';
import { auditLog } from './audit-log.ts';
import { auditTree } from './audit-tree.ts';
import { credentialUses } from './credential-uses.ts';
import { credentials } from './credentials.ts';
import { oauthClients } from './oauth-clients.ts';
import { organizations } from './organizations.ts';
import { policies } from './policies.ts';
import { policyDecisions } from './policy-decisions.ts';
import { projectKeys } from './project-keys.ts';
import { projects } from './projects.ts';
import { usage } from './usage.ts';

export const projections: readonly Projection[] = [
  auditLog,
  auditTree,
  organizations,
  projects,
  projectKeys,
  adminKeys,
  policies,
  policyDecisions,
  oauthClients,
  credentials,
  credentialUses,
  usage,
];
