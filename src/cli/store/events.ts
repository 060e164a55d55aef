import { Command, InvalidArgumentError } from 'commander';
import { aggregates } from '../../domain/aggregates.ts';
import { eventTypes, whose } from '../../domain/streams.ts';
import type { EventStore, Recorded } from '../../kernel/store/store.ts';
import { Failure } from '../../process/failure.ts';
import { recordedAs } from '../audit-questions/history-command.ts';
import { reading } from '../audit-questions/reading.ts';
import { withExamples } from '../examples.ts';
import { oneOf, several } from '../option-values.ts';
import { Listing, listing, type Output, type Shown } from '../table/listing.ts';
import { type Terminal, untilStopped } from '../terminal.ts';

const examples = `
Examples:
  weir events tail                        the twenty latest changes, of all organizations
  weir events tail --follow               and each as it comes, until Ctrl-C
  weir events tail --follow --jsonl --all | jq .type
  weir events tail -n 100 --type project_key.created --type project_key.revoked`;

/** Categories of people's decisions. Weir records the others by itself: accounts, uses, tokens, reservations, signatures. */
const decided: ReadonlySet<string> = new Set(
  [
    aggregates.organization,
    aggregates.project,
    aggregates.projectKey,
    aggregates.adminKey,
    aggregates.policy,
    aggregates.oauthClient,
  ].map(({ category }) => category),
);
/** Never shown: its events hold sealed values of keys. */
const sealed = 'replay';

interface Asked extends Output {
  readonly follow?: true;
  readonly lines: number;
  readonly all?: true;
  readonly type?: readonly string[];
}

const lines = (text: string): number => {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a number up to 999999.');
};

export const eventsCommand = (terminal: Terminal): Command => {
  const events = withExamples(new Command('events'), examples).description('Look at the event log');
  listing(events.command('tail'))
    .description('The latest events, oldest first')
    .option('-f, --follow', 'go on with each event as it comes, until interrupted')
    .option('-n, --lines <number>', 'how many of those that are there', lines, 20)
    .option(
      '--type <type>',
      'only of this type, such as project_key.created; may be repeated',
      several(oneOf(eventTypes)),
    )
    .option('--all', 'also what Weir notes for itself: accounts of requests, last uses, access tokens, signatures')
    .action((options: Asked) => {
      const listed = new Listing(terminal, options, { type: 'id', id: 'id', at: 'time', position: 'id' });
      return reading(terminal, async (store, _, { isOwn }) => {
        if (options.follow && isOwn)
          throw new Failure('No server runs on these files, so nothing can follow. weir serve starts one.');
        const after = await latest(store, options, listed);
        if (options.follow) await follow(terminal, store, options, after, listed);
        listed.end();
      });
    });
  return events;
};

const isWanted = (event: Recorded, { all, type }: Asked): boolean => {
  const category = event.stream.slice(0, event.stream.indexOf('-'));
  if (category === sealed || whose(event) !== 'ours') return false;
  return (all || decided.has(category)) && (type === undefined || type.includes(event.type));
};

/** Shows the latest events. @returns the end of the log at that time */
const latest = async (store: EventStore, options: Asked, listed: Listing): Promise<bigint | null> => {
  const found: Recorded[] = [];
  let end: bigint | null = null;
  for await (const event of store.readAll({ from: 'end', direction: 'backwards', limit: Number.MAX_SAFE_INTEGER })) {
    end ??= event.position;
    if (found.length >= options.lines) break;
    if (isWanted(event, options)) found.push(event);
  }
  for (const event of found.reverse()) add(listed, event);
  return end;
};

const follow = async (
  terminal: Terminal,
  store: EventStore,
  options: Asked,
  after: bigint | null,
  listed: Listing,
): Promise<void> => {
  listed.flush();
  let subscription: ReturnType<EventStore['subscribe']> | undefined;
  const failed = new Promise<never>((_, reject) => {
    subscription = store.subscribe({
      after,
      async deliver(batch) {
        for (const event of batch) if (isWanted(event, options)) add(listed, event);
        listed.flush();
      },
      failed: reject,
    });
  });
  try {
    await Promise.race([untilStopped(terminal), failed]);
  } finally {
    await subscription?.close();
  }
};

const add = (listed: Listing, event: Recorded): void => {
  const { stream, revision, position, type, metadata } = event;
  const { at, actor } = metadata;
  // A table keeps its first two columns at any width.
  const row: Shown = {
    type,
    id: stream.slice(stream.indexOf('-') + 1),
    at,
    by: actor.name === undefined ? actor.id : `${actor.name} (${actor.id})`,
    revision,
    position: String(position),
  };
  listed.add(row, recordedAs(event));
};
