import { type Aggregate, type Changes, chartOf, type StateOf } from '../../kernel/aggregate/aggregate.ts';
import type { Credential, CredentialFields } from '../key/credential.ts';

/** A machine that gets access tokens by OAuth 2.0 client credentials (contract C.3), without its secret. */
export type OAuthClient = Credential;

export type OAuthClientEvent =
  | ({ readonly type: 'oauth_client.created' } & CredentialFields)
  | { readonly type: 'oauth_client.deleted' };

const blank: OAuthClient = {
  organizationId: '',
  name: '',
  permissions: [],
  createdAt: 0,
  digest: '',
  pepperId: '',
  redactedValue: '',
};

const apply: Changes<OAuthClient, OAuthClientEvent> = {
  'oauth_client.created': (_, event) => ({
    organizationId: event.organization_id,
    name: event.name,
    permissions: event.permissions,
    createdAt: event.created_at,
    digest: event.digest,
    pepperId: event.pepper_id,
    redactedValue: event.redacted_value,
  }),
  'oauth_client.deleted': (data) => data,
};

const machine = chartOf<OAuthClient, OAuthClientEvent>(apply).createMachine({
  id: 'oauthClient',
  context: blank,
  initial: 'absent',
  states: {
    absent: { on: { 'oauth_client.created': { target: 'active', actions: 'apply' } } },
    active: { on: { 'oauth_client.deleted': { target: 'deleted', actions: 'apply' } } },
    deleted: { type: 'final' },
  },
});

type OAuthClientState = StateOf<typeof machine>;

const decide = {
  create: (
    _: OAuthClientState,
    input: Omit<OAuthClient, 'createdAt'> & { readonly at: number },
  ): OAuthClientEvent[] => [
    {
      type: 'oauth_client.created',
      organization_id: input.organizationId,
      name: input.name,
      permissions: input.permissions,
      created_at: input.at,
      digest: input.digest,
      pepper_id: input.pepperId,
      redacted_value: input.redactedValue,
    },
  ],
  /** Idempotent, also without a client. */
  delete: ({ status }: OAuthClientState): OAuthClientEvent[] =>
    status === 'active' ? [{ type: 'oauth_client.deleted' }] : [],
};

export const oauthClient: Aggregate<OAuthClient, OAuthClientEvent, typeof decide> = {
  category: 'oauthClient',
  version: 1,
  machine,
  apply,
  decide,
};
