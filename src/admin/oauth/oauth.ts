import { z } from 'zod';
import { type CredentialRow, credentialRows } from '../../../projections/credentials.ts';
import { seconds } from '../../clock.ts';
import { type Acquaintance, authenticateClient } from '../../data/access/authenticate-client.ts';
import type { ClientPrincipal } from '../../data/access/principal.ts';
import { tokenSeconds, tokenStreamSeconds } from '../../domain/oauth/oauth-token.ts';
import { inCatalogueOrder, tokenPermissions } from '../../domain/permissions.ts';
import { fault } from '../../errors.ts';
import { type Call, type Route, route } from '../../http/route.ts';
import { digest, digestText, newId, newToken, tokenKind } from '../../ids.ts';
import { type Administration, contextOf, execute, waitForProjection } from '../command.ts';
import { AttemptWindow } from './attempt-window.ts';

/** Per client (contract C.3). */
const tokensPerMinute = 20;
/** Bytes (contract A.3). */
const bodyLimit = 8 * 1024;

const shared = { tag: 'OAuth', family: 'oauth' } as const;
const form = { method: 'POST', access: { credential: 'client' }, bodyForm: 'urlencoded', bodyLimit } as const;
const clientFields = { client_id: z.string().optional(), client_secret: z.string().optional() };

const tokenBody = z.object({
  grant_type: z.string().meta({ enum: ['client_credentials'] }),
  scope: z.string().optional(),
  ...clientFields,
});
const tokenObject = z
  .object({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int().min(1).max(tokenSeconds),
    scope: z.string(),
  })
  .meta({ id: 'AccessToken' });
const revokeBody = z.object({
  token: z.string().meta({ minLength: 1 }),
  token_type_hint: z.string().optional(),
  ...clientFields,
});

type TokenCall = Call<undefined, unknown, unknown, z.infer<typeof tokenBody>, undefined>;

/** The scope asked for, or all of the client's permissions (RFC 6749, 3.3). */
const granted = ({ permissions }: ClientPrincipal, scope: string | undefined): string[] => {
  const most: readonly string[] = inCatalogueOrder(tokenPermissions, [...permissions]);
  const wanted = scope?.split(' ') ?? most;
  if (wanted.some((permission) => !most.includes(permission))) throw fault('invalid_scope');
  return inCatalogueOrder(tokenPermissions, wanted);
};

/** `POST /v1/oauth/token` (RFC 6749, 4.4; contract A.3, C.3). */
const tokenRoute = (admin: Administration, clients: Acquaintance): Route => {
  const { aggregates, clock, secrets, store } = admin;
  const attempts = new AttemptWindow(tokensPerMinute, 60_000);

  const issue = async (call: TokenCall, client: ClientPrincipal, scope: readonly string[]) => {
    const id = newId('oat', clock);
    const value = newToken('t');
    const input = {
      clientId: client.id,
      organizationId: client.organizationId,
      scope,
      digest: digestText(digest(secrets.pepper, value)),
      pepperId: secrets.pepperId,
      at: clock.wall(),
    };
    const context = contextOf({ head: call.head, principal: client });
    const result = await execute(async () => {
      await store.limitAge(`oauthToken-${id}`, tokenStreamSeconds, { budget: context.budget });
      return aggregates.oauthToken.dispatch(id, 'issue', input, context);
    });
    await waitForProjection(admin, call, result.position);
    return { value, expiresAt: result.state.data.expiresAt };
  };

  return route({
    ...shared,
    ...form,
    path: '/v1/oauth/token',
    operation: 'createAccessToken',
    summary: 'Get an access token for the administration, by the client credentials grant',
    body: tokenBody,
    replies: { 200: { description: 'The token', schema: tokenObject } },
    errors: ['invalid_client', 'unsupported_grant_type', 'invalid_scope', 'rate_limit_exceeded'],
    async handle(call: TokenCall) {
      const { grant_type: grantType, scope: asked } = call.body;
      const client = authenticateClient(admin, clients, call.head, call.body);
      const wait = attempts.count(client.id, clock.monotonic());
      if (wait > 0) {
        const message = `A client may ask for ${tokensPerMinute} tokens a minute. Come back in ${wait} seconds.`;
        throw fault('rate_limit_exceeded', { message, headers: { 'Retry-After': String(wait) } });
      }
      if (grantType !== 'client_credentials') throw fault('unsupported_grant_type');
      const scope = granted(client, asked);
      const { value, expiresAt } = await issue(call, client, scope);
      const body: z.infer<typeof tokenObject> = {
        access_token: value,
        token_type: 'Bearer',
        // Less if issuing has taken longer than usual.
        expires_in: Math.min(tokenSeconds, seconds(expiresAt - clock.wall())),
        scope: scope.join(' '),
      };
      return { status: 200, headers: { 'Cache-Control': 'no-store', Pragma: 'no-cache' }, body };
    },
  });
};

/** `POST /v1/oauth/revoke` (RFC 7009): other tokens than the client's own are ignored with the same answer. */
const revokeRoute = (admin: Administration, clients: Acquaintance): Route => {
  const { aggregates, clock, directory, models, secrets, store } = admin;

  const known = (token: string) =>
    secrets.peppers
      .map((pepper) => models.get(credentialRows, digestText(digest(pepper, token))))
      .find((row) => row?.kind === 'oauth_token');

  /** Whether the read models have every event of the store, so that an unknown token does not exist. */
  const isCurrent = async (): Promise<boolean> => {
    for await (const last of store.readAll({ from: 'end', direction: 'backwards', limit: 1 })) {
      return models.reached(last.position, admin.projectionWaitMs, [credentialRows]);
    }
    return true;
  };

  /** An expired token gets no more events, because its stream may have lost its beginning. */
  const isInForce = ({ status, expiresAt }: CredentialRow): boolean =>
    status === 'active' && expiresAt !== null && expiresAt > clock.wall();

  const find = async (token: string) => {
    if (tokenKind(token) !== 't') return undefined;
    const row = known(token);
    if (row || (await execute(isCurrent))) return row ?? known(token);
    throw fault('dependency_unavailable');
  };

  return route<undefined, unknown, unknown, z.infer<typeof revokeBody>>({
    ...shared,
    ...form,
    path: '/v1/oauth/revoke',
    operation: 'revokeAccessToken',
    summary: 'Make an access token of the client useless, at once',
    body: revokeBody,
    replies: { 200: { description: 'The token works no more, or never did', schema: z.object({}) } },
    errors: ['invalid_client', 'rate_limit_exceeded'],
    async handle(call) {
      const client = authenticateClient(admin, clients, call.head, call.body);
      const token = await find(call.body.token);
      if (token?.ownerId === client.id && isInForce(token)) {
        const context = contextOf({ head: call.head, principal: client });
        const result = await execute(() =>
          aggregates.oauthToken.dispatch(token.id, 'revoke', { at: clock.wall() }, context),
        );
        directory.refuse(token.id, result.position, 'invalid_access_token');
        await waitForProjection(admin, call, result.position);
      }
      return { status: 200, body: {} };
    },
  });
};

const metadataObject = z
  .object({
    issuer: z.string(),
    token_endpoint: z.string(),
    revocation_endpoint: z.string(),
    scopes_supported: z.array(z.enum(tokenPermissions)),
    response_types_supported: z.array(z.string()),
    grant_types_supported: z.array(z.literal('client_credentials')),
    token_endpoint_auth_methods_supported: z.array(z.string()),
    revocation_endpoint_auth_methods_supported: z.array(z.string()),
  })
  .meta({ id: 'AuthorizationServerMetadata' });

/** `GET /.well-known/oauth-authorization-server` (RFC 8414). */
const metadataRoute = (publicUrl: () => string): Route =>
  route({
    ...shared,
    method: 'GET',
    path: '/.well-known/oauth-authorization-server',
    operation: 'getAuthorizationServerMetadata',
    summary: 'Where and how OAuth clients get their tokens',
    access: { credential: 'none' },
    replies: { 200: { description: 'The metadata', schema: metadataObject } },
    handle() {
      const issuer = publicUrl();
      const methods = ['client_secret_basic', 'client_secret_post'];
      const body: z.infer<typeof metadataObject> = {
        issuer,
        token_endpoint: `${issuer}/v1/oauth/token`,
        revocation_endpoint: `${issuer}/v1/oauth/revoke`,
        scopes_supported: tokenPermissions,
        response_types_supported: [],
        grant_types_supported: ['client_credentials'],
        token_endpoint_auth_methods_supported: methods,
        revocation_endpoint_auth_methods_supported: methods,
      };
      return { status: 200, headers: { 'Cache-Control': 'public, max-age=300' }, body };
    },
  });

export interface OAuthOptions extends Acquaintance {
  /** The address for clients, without a slash at the end. */
  readonly publicUrl: () => string;
}

export const oauthRoutes = (admin: Administration, options: OAuthOptions): Route[] => [
  tokenRoute(admin, options),
  revokeRoute(admin, options),
  metadataRoute(options.publicUrl),
];
