import { Command } from 'commander';
import { countOf } from '../../admin/audit/audit-search.ts';
import { nameOf } from '../../audit/effective.ts';
import { NoHistory } from '../../audit/history.ts';
import { noHistoryOf, type Past, pastOf } from '../../audit/past.ts';
import { systemClock } from '../../clock.ts';
import type { OAuthToken } from '../../domain/oauth/oauth-token.ts';
import type { Settlement } from '../../domain/usage/usage-events.ts';
import type { RowReader } from '../../kernel/rows/rows.ts';
import type { EventStore } from '../../kernel/store/store.ts';
import { inputOf } from '../../tokens.ts';
import { settlementsBetween } from '../../usage/settlements.ts';
import { dollars } from '../output.ts';
import { jsonOf, listing, type Output } from '../table/listing.ts';
import { printable, type Terminal } from '../terminal.ts';
import { entryPage, entryThen } from './entry-page.ts';
import { type Who, whoIs } from './forms.ts';
import { type EntryRow, logEntries } from './log-entries.ts';
import { entriesIn, ofLog, organizationsOf } from './log-query.ts';
import { checkSpan, parseTime } from './moment.ts';
import { readingRows } from './reading.ts';
import { type Field, sheet, widthOf } from './sheet.ts';
import { called, whenIn } from './words.ts';

interface Options extends Output {
  readonly from?: number;
  readonly to?: number;
}

interface Credential {
  readonly title: string;
  readonly organizations: readonly string[];
  readonly who: Who;
  readonly from: number;
  readonly to: number;
  readonly notes: readonly Field[];
}

export const whoCommand = (terminal: Terminal): Command =>
  listing(new Command('who'))
    .description('All that a credential or an operator did, and what it was refused, oldest first')
    .argument(
      '<credential>',
      'akey_…, key_…, oac_…, oat_…, or operator:NAME or NAME alone (the OS user, or what --actor said)',
    )
    .option('--from <time>', 'a time, or a date (its first moment, UTC)', parseTime)
    .option('--to <time>', 'the same, exclusive; default: now', parseTime)
    .action((id: string, options: Options) => {
      checkSpan(options.from, options.to);
      const find = finder(id);
      return readingRows(terminal, async (store, rows, onCorrupt) => {
        const past = pastOf(store, { onCorrupt });
        const credential = await find(past, rows);
        const from = Math.max(credential.from, options.from ?? 0);
        const to = Math.min(credential.to, options.to ?? systemClock.wall() + 1);
        const found = await entriesBy(rows, store, credential, from, to);
        const requests = id.startsWith('key_') ? await requestsOf(past, store, id, from, to) : null;
        if (found.length === 0 && credential.who.id === null)
          terminal.err(`No entry of that time is by ${credential.title}: neither as the OS user nor as --actor.\n`);
        const json = jsonOf(terminal, options);
        if (json) {
          for (const row of found) json.add(await entryThen(past, row));
          // The last JSON line of a project key is the sum of its requests.
          if (requests) json.add({ requests });
          return json.end();
        }
        const width = widthOf(terminal, options);
        const when = whenIn(options);
        const head: Field[] = [
          ...(from > 0 ? [['from', when(from)] as const] : []),
          ['to', when(to)],
          ...credential.notes,
          ['entries', String(found.length)],
          ...(requests ? [['requests', inWords(requests)] as const] : []),
        ];
        terminal.out(sheet(credential.title, head, width));
        for (const row of found) terminal.out(`\n${await entryPage(past, row, width, when)}`);
      });
    });

const always = { from: 0, to: Number.POSITIVE_INFINITY, notes: [] } as const;

type Finder = (past: Past, rows: RowReader) => Promise<Credential>;

const finder = (id: string): Finder => {
  const who = whoIs(id);
  if (who.id === null) {
    return async (_, rows) => ({
      ...always,
      title: `operator ${printable(who.name)}`,
      organizations: organizationsOf(rows, undefined),
      who,
    });
  }
  return id.startsWith('oat_') ? (past) => ofToken(past, id) : (past) => ofKey(past, id);
};

const ofKey = async (past: Past, id: string): Promise<Credential> => {
  const last = (await past.life(id)).at(-1);
  if (!last) throw noHistoryOf(past, id);
  const { organizationId } = last.state.data as { readonly organizationId: string };
  return {
    ...always,
    title: called(id, nameOf(last)),
    organizations: [organizationId],
    who: whoIs(id),
  };
};

/** A token's entries are recorded under its client, and cannot be distinguished from those of the client's other tokens. */
const ofToken = async (past: Past, id: string): Promise<Credential> => {
  const life = await past.life(id);
  const [issued, last] = [life[0], life.at(-1)];
  if (!issued || !last)
    throw new NoHistory(`There is no ${id} in this store: tokens are kept for two hours. Ask about its client: oac_….`);
  const { clientId, expiresAt } = last.state.data as OAuthToken;
  const to = last.state.status === 'revoked' ? last.at : expiresAt;
  const note = `${clientId}, under whose name each of its tokens acts: what this one and others did while it was good`;
  return { ...(await ofKey(past, clientId)), title: id, from: issued.at, to, notes: [['client', note]] };
};

const entriesBy = async (
  rows: RowReader,
  store: EventStore,
  { organizations, who }: Credential,
  from: number,
  to: number,
): Promise<EntryRow[]> => {
  const query = { from, to, actor: [who] };
  const found: EntryRow[] = who.id === null ? [...ofLog(await logEntries(store), query)] : [];
  for (const id of organizations) {
    const count = countOf(rows, id);
    found.push(...(await entriesIn(rows, id, { from: 0, to: count - 1, order: 'asc' }, query, count)));
  }
  return found.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
};

interface Requests {
  readonly requests: number;
  readonly tokens: number;
  readonly micro_dollars: number;
  readonly by_model: Readonly<Record<string, number>>;
}

const tokensOf = (of: Settlement): number => inputOf(of) + of.output_tokens;

const requestsOf = async (past: Past, store: EventStore, id: string, from: number, to: number): Promise<Requests> => {
  // A key has no requests before its creation, so older settlements need not be read.
  const begin = Math.max(from, (await past.life(id))[0]?.at ?? from);
  let sum: Requests = { requests: 0, tokens: 0, micro_dollars: 0, by_model: {} };
  if (begin >= to) return sum;
  for await (const each of settlementsBetween(store, begin, to)) {
    if (each.key_id !== id || each.settled_at < from || each.settled_at >= to) continue;
    sum = {
      requests: sum.requests + 1,
      tokens: sum.tokens + tokensOf(each),
      micro_dollars: sum.micro_dollars + each.micro_dollars,
      by_model: { ...sum.by_model, [each.model]: (sum.by_model[each.model] ?? 0) + 1 },
    };
  }
  return sum;
};

const inWords = ({ requests, tokens, micro_dollars, by_model }: Requests): string => {
  if (requests === 0) return 'none to models';
  const models = Object.entries(by_model).map(([model, count]) => `${count} to ${printable(model)}`);
  return `${models.join(', ')}: ${tokens} tokens, ${dollars(micro_dollars)}`;
};
