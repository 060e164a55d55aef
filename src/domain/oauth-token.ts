import { assign, setup } from 'xstate';
import type { Aggregate } from '../kernel/aggregate.ts';

/**
 * An access token of an OAuth client (contract A.3). Its stream goes away two hours after the token was issued
 * (architecture 4), so nothing may be decided on it once the token is over.
 */
export interface OAuthToken {
  readonly clientId: string;
  readonly organizationId: string;
  readonly scope: readonly string[];
  readonly expiresAt: number;
  readonly isLive: boolean;
}

export type OAuthTokenFact =
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

/** Seconds that a token works (contract A.3). */
export const tokenSeconds = 3600;
/** Seconds that the events of a token are kept. */
export const tokenStreamSeconds = 7200;

const blank: OAuthToken = { clientId: '', organizationId: '', scope: [], expiresAt: 0, isLive: false };

const apply = (data: OAuthToken, fact: OAuthTokenFact): OAuthToken => {
  switch (fact.type) {
    case 'oauth_token.issued':
      return {
        clientId: fact.client_id,
        organizationId: fact.organization_id,
        scope: fact.scope,
        expiresAt: fact.expires_at,
        isLive: true,
      };
    case 'oauth_token.revoked':
      return { ...data, isLive: false };
  }
};

const machine = setup({
  types: { context: {} as OAuthToken, events: {} as OAuthTokenFact },
  actions: { apply: assign(({ context, event }) => apply(context, event)) },
}).createMachine({
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

const decide = {
  issue: (_: OAuthToken, input: IssueToken): OAuthTokenFact[] => [
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
  revoke: (data: OAuthToken, input: { at: number }): OAuthTokenFact[] =>
    data.isLive && data.expiresAt > input.at ? [{ type: 'oauth_token.revoked' }] : [],
};

export const oauthToken: Aggregate<OAuthToken, OAuthTokenFact, typeof decide> = {
  category: 'oauthToken',
  version: 1,
  machine,
  apply,
  decide,
};
