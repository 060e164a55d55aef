import type { Recorded } from '../kernel/store/store.ts';
import { aggregates, type Category } from './aggregates.ts';
import { accessRecordSeconds } from './key/access-events.ts';
import { decisionSeconds } from './policy/decision-events.ts';
import { accountSeconds } from './usage/usage-events.ts';

/** Streams of one category: what follows the dash, and the events that they hold. */
interface Grammar {
  readonly id: RegExp;
  readonly types: ReadonlySet<string>;
}

const publicId = '[0-9a-hjkmnp-tv-z]{26}';
const day = '[0-9]{8}';
const grammar = (id: string, types: Iterable<string>): Grammar => ({
  id: new RegExp(`^(?:${id})$`),
  types: new Set(types),
});

/** What the ids of each kind begin with (contract A.1); null where the stream is named by an HMAC. */
export const prefixes: Readonly<Record<Category, string | null>> = {
  organization: 'org',
  project: 'proj',
  projectKey: 'key',
  adminKey: 'akey',
  policy: 'pol',
  oauthClient: 'oac',
  oauthToken: 'oat',
  idempotency: null,
};
const hmac = '[0-9a-f]{64}';

const grammarOf = ({ category, machine }: (typeof aggregates)[Category]): [string, Grammar] => {
  const prefix = prefixes[category as Category];
  return [category, grammar(prefix === null ? hmac : `${prefix}_${publicId}`, machine.events)];
};

/** Every stream that Weir writes. */
const grammars: ReadonlyMap<string, Grammar> = new Map([
  ...Object.values(aggregates).map(grammarOf),
  ['replay', grammar(`(key|akey|oac)_${publicId}`, ['replay.sealed'])],
  ['credentialUse', grammar(day, ['credential.used'])],
  ['denial', grammar(`org_${publicId}_${day}`, ['access.denied'])],
  ['usage', grammar(day, ['usage.settled'])],
  ['policyDecision', grammar(day, ['policies.decided'])],
  ['usageTotal', grammar('organizations', ['usage.totalled'])],
  ['price', grammar('models', ['price.declared'])],
  [
    'log',
    grammar('[a-z_]+', ['log.started', 'log.first_run_claimed', 'log.secrets_known', 'log.written_by', 'log.imported']),
  ],
  ['auditLog', grammar('checkpoints|keys', ['audit.checkpoint', 'audit.key_started', 'audit.key_rotated'])],
]);

/** Every type of event that Weir writes. */
export const eventTypes: ReadonlySet<string> = new Set([...grammars.values()].flatMap(({ types }) => [...types]));

/**
 * Of these the store removes events: where it is by their age, after so many seconds from the day in the stream's name; else when
 * what they held is over.
 */
const passing: ReadonlyMap<string, number | null> = new Map([
  [aggregates.oauthToken.category, null],
  ['replay', null],
  ['credentialUse', accessRecordSeconds],
  ['denial', accessRecordSeconds],
  ['usage', accountSeconds],
  ['policyDecision', decisionSeconds],
]);

const grammarFor = (stream: string): Grammar | undefined => {
  const dash = stream.indexOf('-');
  const known = dash < 0 ? undefined : grammars.get(stream.slice(0, dash));
  return known?.id.test(stream.slice(dash + 1)) === true ? known : undefined;
};

/** Whether a stream has a name as Weir writes them: all that is ours is in one of these. */
export const isOurStream = (stream: string): boolean => grammarFor(stream) !== undefined;

const keptSeconds = (stream: string): number | null | undefined => passing.get(stream.slice(0, stream.indexOf('-')));

/** Whether the events of a stream may be gone while the log is whole. */
export const isRemovable = (stream: string): boolean => keptSeconds(stream) !== undefined;

const dayMs = 24 * 3600 * 1000;

/** From when on, in milliseconds, events of a removable stream may be gone: a day early, since clocks differ. */
export const goneFrom = (stream: string): number => {
  const seconds = keptSeconds(stream);
  const [, year, month, date] = /(\d{4})(\d{2})(\d{2})$/.exec(stream) ?? [];
  if (seconds == null || year === undefined) return 0;
  return Date.UTC(Number(year), Number(month) - 1, Number(date)) + seconds * 1000 - dayMs;
};

/**
 * Whether what the store was told about a stream hides events of ours before their time: whoever decides on the stream would not
 * see them.
 * @param told the fields of its metadata; null where the stream was deleted for ever
 */
export const hidesEarly = (stream: string, told: Readonly<Record<string, unknown>> | null): boolean => {
  if (!isOurStream(stream)) return false;
  const seconds = keptSeconds(stream);
  if (seconds === null) return false;
  if (told === null || told.$tb !== undefined || told.$maxCount !== undefined) return true;
  return told.$maxAge !== undefined && !(Number(told.$maxAge) >= (seconds ?? Number.POSITIVE_INFINITY));
};

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Who, when and why, as Weir writes it on each of its events. */
const hasOurMetadata = (metadata: unknown): boolean =>
  isObject(metadata) &&
  Number.isFinite(metadata.at) &&
  isObject(metadata.actor) &&
  typeof metadata.actor.type === 'string' &&
  typeof metadata.$causationId === 'string' &&
  Number.isInteger(metadata.v);

/**
 * Whose event it is, in a store that others may use too (contract K.3). `ours` by category, grammar of the id, type and
 * metadata; `like-ours` where the category is one of ours and something else is not, which an operator should hear of;
 * `foreign` all else. Only what is ours is ever read.
 */
export const whose = (event: Pick<Recorded, 'stream' | 'type' | 'metadata'>): 'ours' | 'like-ours' | 'foreign' => {
  const dash = event.stream.indexOf('-');
  if (dash < 0 || !grammars.has(event.stream.slice(0, dash))) return 'foreign';
  const isOurs = grammarFor(event.stream)?.types.has(event.type) === true && hasOurMetadata(event.metadata);
  return isOurs ? 'ours' : 'like-ours';
};

/** Whether an event is one of ours that is never removed. */
export const lasts = (event: Pick<Recorded, 'stream' | 'type' | 'metadata'>): boolean =>
  !isRemovable(event.stream) && whose(event) === 'ours';
