import { type Aggregate, type Changes, chartOf, type StateOf } from '../../kernel/aggregate/aggregate.ts';

/**
 * An access token of an OAuth client (contract C.3). Its stream goes away two hours after the token was issued, so nothing
 * may be decided on it once the token is over.
 */
export interface OAuthToken {
  readonly clientId: string;
  readonly organizationId: string;
  readonly scope: readonly string[];
  readonly expiresAt: number;
}

export type OAuthTokenEvent =
  | {
      readonly type: 'oauth_token.issued';
      readonly client_id: string;
      readonly organization_id: string;
      readonly scope: readonly string[];
      readonly issued_at: number;
      readonly expires_at: number;
      readonly digest: string;
      readonly pepper_id: string;
    }
  | { readonly type: 'oauth_token.revoked' };

/** Seconds that a token works (contract C.3). */
export const tokenSeconds = 3600;
/** Seconds that the events of a token are kept. */
export const tokenStreamSeconds = 7200;

const blank: OAuthToken = { clientId: '', organizationId: '', scope: [], expiresAt: 0 };

const apply: Changes<OAuthToken, OAuthTokenEvent> = {
  'oauth_token.issued': (_, event) => ({
    clientId: event.client_id,
    organizationId: event.organization_id,
    scope: event.scope,
    expiresAt: event.expires_at,
  }),
  'oauth_token.revoked': (data) => data,
};

const machine = chartOf<OAuthToken, OAuthTokenEvent>(apply).createMachine({
  id: 'oauthToken',
  context: blank,
  initial: 'absent',
  states: {
    absent: { on: { 'oauth_token.issued': { target: 'active', actions: 'apply' } } },
    active: { on: { 'oauth_token.revoked': { target: 'revoked', actions: 'apply' } } },
    revoked: { type: 'final' },
  },
});

export interface IssueToken {
  readonly clientId: string;
  readonly organizationId: string;
  readonly scope: readonly string[];
  readonly digest: string;
  readonly pepperId: string;
  readonly at: number;
}

type OAuthTokenState = StateOf<typeof machine>;

const decide = {
  issue: (_: OAuthTokenState, input: IssueToken): OAuthTokenEvent[] => [
    {
      type: 'oauth_token.issued',
      client_id: input.clientId,
      organization_id: input.organizationId,
      scope: input.scope,
      issued_at: input.at,
      expires_at: input.at + tokenSeconds * 1000,
      digest: input.digest,
      pepper_id: input.pepperId,
    },
  ],
  /** Of a token that is over, or was revoked before, it changes nothing. */
  revoke: ({ status, data }: OAuthTokenState, input: { at: number }): OAuthTokenEvent[] =>
    status === 'active' && data.expiresAt > input.at ? [{ type: 'oauth_token.revoked' }] : [],
};

export const oauthToken: Aggregate<OAuthToken, OAuthTokenEvent, typeof decide> = {
  category: 'oauthToken',
  version: 1,
  machine,
  apply,
  decide,
};
