import type { Recorded } from '../kernel/store/store.ts';
import { aggregates, type Category } from './aggregates.ts';
import { accessRecordSeconds } from './key/access-events.ts';
import { decisionSeconds } from './policy/decision-events.ts';
import { isObject } from './records.ts';
import { accountSeconds } from './usage/usage-events.ts';

/** The streams of one category: the pattern of their ids, and their types of events. */
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

/** Prefixes of ids (contract A.1); null if the stream's name is an HMAC. */
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

export const eventTypes: ReadonlySet<string> = new Set([...grammars.values()].flatMap(({ types }) => [...types]));

/** Streams whose events the store removes: by the age of the day in their name, in seconds, or (null) when they are obsolete. */
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

/** Whether Weir could have written this name. */
export const isOurStream = (stream: string): boolean => grammarFor(stream) !== undefined;

const keptSeconds = (stream: string): number | null | undefined => passing.get(stream.slice(0, stream.indexOf('-')));

/** Whether events of a stream may be missing from a complete log. */
export const isRemovable = (stream: string): boolean => keptSeconds(stream) !== undefined;

const dayMs = 24 * 3600 * 1000;

/** The time in milliseconds from which on events may be missing; a day early, since clocks differ. */
export const goneFrom = (stream: string): number => {
  const seconds = keptSeconds(stream);
  const [, year, month, date] = /(\d{4})(\d{2})(\d{2})$/.exec(stream) ?? [];
  if (seconds == null || year === undefined) return 0;
  return Date.UTC(Number(year), Number(month) - 1, Number(date)) + seconds * 1000 - dayMs;
};

/** Whether a stream's metadata hides events of Weir too early. @param told its fields; null for a hard delete */
export const hidesEarly = (stream: string, told: Readonly<Record<string, unknown>> | null): boolean => {
  if (!isOurStream(stream)) return false;
  const seconds = keptSeconds(stream);
  if (seconds === null) return false;
  if (told === null || told.$tb !== undefined || told.$maxCount !== undefined) return true;
  return told.$maxAge !== undefined && !(Number(told.$maxAge) >= (seconds ?? Number.POSITIVE_INFINITY));
};

const hasOurMetadata = (metadata: unknown): boolean =>
  isObject(metadata) &&
  Number.isFinite(metadata.at) &&
  isObject(metadata.actor) &&
  typeof metadata.actor.type === 'string' &&
  typeof metadata.$causationId === 'string' &&
  Number.isInteger(metadata.v);

/** Only `ours` is read in a shared store (contract K.3). `like-ours`: only the category matches, of which operators are warned. */
export const whose = (event: Pick<Recorded, 'stream' | 'type' | 'metadata'>): 'ours' | 'like-ours' | 'foreign' => {
  const dash = event.stream.indexOf('-');
  if (dash < 0 || !grammars.has(event.stream.slice(0, dash))) return 'foreign';
  const isOurs = grammarFor(event.stream)?.types.has(event.type) === true && hasOurMetadata(event.metadata);
  return isOurs ? 'ours' : 'like-ours';
};

export const lasts = (event: Pick<Recorded, 'stream' | 'type' | 'metadata'>): boolean =>
  !isRemovable(event.stream) && whose(event) === 'ours';
