import { type Aggregate, type Changes, chartOf, type StateOf } from '../../kernel/aggregate/aggregate.ts';
import { promisedEnd } from '../expiry.ts';

/** An access token (contract C.3). Its stream expires after two hours, so an expired token gets no more events. */
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

/** Contract C.3. */
export const tokenSeconds = 3600;
/** Retention of a token's events. */
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

export interface IssueToken extends Omit<OAuthToken, 'expiresAt'> {
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
      expires_at: promisedEnd(input.at, tokenSeconds),
      digest: input.digest,
      pepper_id: input.pepperId,
    },
  ],
  /** Does nothing for an expired or revoked token. */
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
