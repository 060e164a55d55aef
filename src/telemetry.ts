/**
 * What Weir says about itself: a typed list of signals and nothing else. Loggers and metrics subscribe from the
 * composition root. A signal never carries a secret, a prompt or an answer.
 */
export interface Signals {
  /** A request was answered with an unexpected failure. */
  'request.failed': { readonly requestId: string; readonly error: unknown };
  /** A command appended events. */
  'command.recorded': {
    readonly requestId: string | undefined;
    readonly stream: string;
    readonly revision: number;
    readonly events: readonly string[];
  };
  /** Somebody else's stream in a place that looks like one of ours; said once for each. */
  'stream.passed_over': { readonly stream: string; readonly type: string };
  /** The rows of these are gone, and are made again from the log's beginning. */
  'projection.rebuilt': { readonly reason: string; readonly projections: readonly string[] };
  /**
   * At the start: so much of the log has been read into the rows, in percent of the way to its end as it was then, null while
   * that is not known. Told every few seconds where it takes long, and when it is done.
   */
  'projection.catching_up': { readonly events: number; readonly percent: number | null; readonly seconds: number };
  'projection.caught_up': { readonly events: number; readonly seconds: number };
  /** The volume is full: the rows stay as they are, commands are refused, and all goes on when there is room. */
  'projection.held': { readonly error: unknown };
  'projection.failed': { readonly error: unknown };
  /**
   * Rows of these are not as they were written. They are made again from the log, and nothing that needs them is answered until
   * they are there.
   */
  'rows.damaged': { readonly projections: readonly string[]; readonly error: unknown };
  /** They are there. */
  'rows.remade': { readonly projection: string; readonly events: number; readonly seconds: number };
  /** A projection or reactor takes no event from this one on; the others go on. Without a stream: the log cannot be read on. */
  'follower.stopped': {
    readonly follower: string;
    readonly stream?: string;
    readonly revision?: number;
    readonly error: unknown;
  };
  /** A reaction, or a task of the sweeper, that had failed has succeeded. */
  'follower.resumed': { readonly follower: string; readonly task?: string };
  /** These begin as new ones do, most of them with the first event; what they have done already they do not do twice. */
  'reactors.begun_again': { readonly reason: string; readonly reactors: readonly string[] };
  /** A reaction, or a task of the sweeper, has failed: said once, until it succeeds. */
  'reaction.failed': { readonly reactor: string; readonly stream: string; readonly error: unknown };
  /** No checkpoint of the audit log could be written; it is tried again until one can. Said once. */
  'audit.unsigned': { readonly error: unknown };
  /** A key in the log for which nobody vouches: it signs nothing that is believed. Said at each start, and when it comes. */
  'audit.key_passed_over': { readonly stream: string; readonly revision: number };
  /** A checkpoint in the log that is not ours and changes nothing: somebody has written it there. */
  'audit.checkpoint_passed_over': { readonly stream: string; readonly revision: number };
  /** The secrets have made none of the log's keys: nothing is signed until an operator begins a new part. */
  'audit.no_key': Readonly<Record<string, never>>;
  /** A checkpoint could not be brought to a sink; the newest is brought when it can be. Said once, and again when it is over. */
  'audit.sink_lost': { readonly sink: string; readonly error: unknown };
  'audit.sink_back': { readonly sink: string };
  /** Last uses or refused attempts could not be written down; what can be kept is tried again. */
  'access.unrecorded': { readonly error: unknown };
  /** No request for a model is taken: the disk has no room for its account, or takes nothing. And over. */
  'usage.unwritten': { readonly error: unknown };
  'usage.written': Readonly<Record<string, never>>;
  /** Accounts of requests wait on the disk, since the event store does not take them. And over. */
  'usage.unsent': { readonly error: unknown };
  'usage.sent': Readonly<Record<string, never>>;
  /** Decisions of policies that there was no room to keep, since this was last said. */
  'policies.unrecorded': { readonly decisions: number };
  /** What organizations have used in all could not be told: it is tried again each minute. */
  'usage.untold': { readonly error: unknown };
  /** At the start: requests that were in flight when the gateway ended, and lines of its journal that are not as they were. */
  'usage.recovered': { readonly abandoned: number; readonly damaged: number };
  /** At the start: so many requests were begun of which the journal does not tell any more; nobody is charged for them. */
  'usage.missing': { readonly requests: number | 'unknown'; readonly dir: string };
  /** Prices of models that were not known to the log, or were others. */
  'prices.declared': { readonly models: readonly string[] };
  /** At the start: an attempt to reach the store has failed. */
  'store.awaited': { readonly reason: string };
  /** At the start: a setting of the connection string has no effect. */
  'store.option_ignored': { readonly option: string; readonly reason: string };
  /** At the start: another process has the embedded store, which may be closing it. It is waited for. */
  'store.in_use': { readonly dir: string; readonly holder: string };
  /** Commands are not taken any more; said again while that lasts; and over. */
  'store.lost': { readonly reason: string };
  'store.away': { readonly reason: string; readonly forMs: number };
  'store.back': { readonly afterMs: number };
  /** At the start: the volume of the embedded store is too full. It answers reads, and takes nothing until there is room. */
  'store.read_only': { readonly dir: string; readonly freeBytes: number; readonly neededBytes: number };
  /** The leader is another node. */
  'store.moved': Readonly<Record<string, never>>;
  /** A reader of the log had to connect again, while commands were taken. */
  'store.stumbled': { readonly reason: string };
  /** What was known of the windows of a family at the start; refused is what of its files could not be used. */
  'limits.restored': {
    readonly family: string;
    readonly records: number;
    readonly refused: readonly string[];
    /** The minute windows begin half used. */
    readonly halfFull: boolean;
  };
  /** The windows could not be saved: until they are, a restart would forget what has changed. */
  'limits.unsaved': { readonly error: unknown };
  /** What should never happen to a request's limits, and has. */
  'limits.trouble': {
    readonly kind: string;
    readonly key: string;
    readonly organization: string;
    readonly ageMs?: number;
  };
  /** The models file was read again, as it was asked for. */
  'models.reloaded': { readonly models: readonly string[] };
  /** It cannot be used; the models stay as they are. */
  'models.refused': { readonly fault: string };
  'tiers.reloaded': { readonly file: string };
  /** The tiers file has changed and cannot be used; the limits stay as they are. */
  'tiers.refused': { readonly file: string; readonly fault: string };
  /** Another gateway has made what the empty store starts with. */
  'first_run.left': { readonly to: string; readonly organizationId: string };
  /** Another gateway has claimed that, and it is not there after all this time. */
  'first_run.unfinished': { readonly by: string; readonly advice: string };
  /** Fingerprints of the secrets were written into a log that is older than they: from now on others are refused. */
  'secrets.accepted': { readonly pepper: string; readonly masterKey: string };
  /** An upstream has failed in a way of its own, which its client was not told. @see UpstreamError.reason */
  'upstream.failed': {
    readonly requestId: string;
    readonly code: string;
    readonly reason: string;
    /** Characters of what it said. */
    readonly length: number | undefined;
  };
  /** One of several upstreams of a model fails: it gets no requests but a probe now and then, until one is answered. */
  'upstream.opened': { readonly model: string; readonly upstream: string; readonly reason: string };
  'upstream.closed': { readonly model: string; readonly upstream: string };
  /** Spans cannot be brought to the collector; said once, and again when it is over. */
  'traces.unsent': { readonly reason: string };
  'traces.sent': Readonly<Record<string, never>>;
  /** New connections get another certificate from now on. */
  'certificate.reloaded': { readonly validTo: string };
  /** The files of the certificate have changed and cannot be used; the one that was read before is served on. */
  'certificate.refused': { readonly fault: string };
  /** The certificate that is served has expired, and the files hold no other. */
  'certificate.expired': { readonly validTo: string };
  'server.draining': { readonly inFlight: number };
}

export type SignalName = keyof Signals;

const every: Readonly<Record<SignalName, true>> = {
  'request.failed': true,
  'command.recorded': true,
  'stream.passed_over': true,
  'projection.rebuilt': true,
  'projection.catching_up': true,
  'projection.caught_up': true,
  'projection.held': true,
  'projection.failed': true,
  'rows.damaged': true,
  'rows.remade': true,
  'follower.stopped': true,
  'follower.resumed': true,
  'reactors.begun_again': true,
  'reaction.failed': true,
  'audit.unsigned': true,
  'audit.key_passed_over': true,
  'audit.checkpoint_passed_over': true,
  'audit.no_key': true,
  'audit.sink_lost': true,
  'audit.sink_back': true,
  'access.unrecorded': true,
  'usage.unwritten': true,
  'usage.written': true,
  'usage.unsent': true,
  'usage.sent': true,
  'policies.unrecorded': true,
  'usage.untold': true,
  'usage.recovered': true,
  'usage.missing': true,
  'prices.declared': true,
  'store.awaited': true,
  'store.option_ignored': true,
  'store.in_use': true,
  'store.lost': true,
  'store.away': true,
  'store.back': true,
  'store.read_only': true,
  'store.moved': true,
  'store.stumbled': true,
  'limits.restored': true,
  'limits.unsaved': true,
  'limits.trouble': true,
  'models.reloaded': true,
  'models.refused': true,
  'tiers.reloaded': true,
  'tiers.refused': true,
  'first_run.left': true,
  'first_run.unfinished': true,
  'secrets.accepted': true,
  'upstream.failed': true,
  'upstream.opened': true,
  'upstream.closed': true,
  'traces.unsent': true,
  'traces.sent': true,
  'certificate.reloaded': true,
  'certificate.refused': true,
  'certificate.expired': true,
  'server.draining': true,
};
/** Of all that may be said. */
export const signalNames = Object.keys(every) as readonly SignalName[];

type Listener = <N extends SignalName>(name: N, signal: Signals[N]) => void;

const listeners = new Set<Listener>();

/** Subscribes to every signal; the returned function ends it. */
export const onSignal = (listener: Listener): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const publish = <N extends SignalName>(name: N, signal: Signals[N]): void => {
  for (const listener of listeners) listener(name, signal);
};
