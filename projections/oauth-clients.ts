import { type OAuthClient, type OAuthClientEvent, oauthClient } from '../src/domain/oauth/oauth-client.ts';
import type { State } from '../src/kernel/aggregate/aggregate.ts';
import { compile } from '../src/kernel/aggregate/chart.ts';
import type { Projection } from '../src/kernel/projections/projection.ts';
import { table } from '../src/kernel/rows/rows.ts';
import { eventOf, idOf } from './recorded.ts';

export interface OAuthClientRow extends State<OAuthClient> {
  readonly id: string;
}

export const oauthClientRows = table<OAuthClientRow>('oauth-clients');

const chart = compile(oauthClient);

export const oauthClients: Projection = {
  name: 'oauth-clients',
  version: 2,
  categories: ['oauthClient'],
  tables: [oauthClientRows],
  apply(event, rows) {
    const id = idOf(event);
    const row = chart.step(rows.get(oauthClientRows, id) ?? chart.initial, eventOf<OAuthClientEvent>(event));
    rows.put(oauthClientRows, id, { id, ...row });
  },
};
