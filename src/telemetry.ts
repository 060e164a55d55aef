/** Signals for loggers and metrics. A signal never carries a secret, a prompt or an answer. */
export interface Signals {
  'request.failed': { readonly requestId: string; readonly error: unknown };
  'command.recorded': {
    readonly requestId: string | undefined;
    readonly stream: string;
    readonly revision: number;
    readonly events: readonly string[];
  };
  /** A foreign stream with a name like ours; once for each. */
  'stream.passed_over': { readonly stream: string; readonly type: string };
  'projection.rebuilt': { readonly reason: string; readonly projections: readonly string[] };
  /** At the start, every few seconds: how much of the log has been read, null while its end is unknown. */
  'projection.catching_up': { readonly events: number; readonly percent: number | null; readonly seconds: number };
  'projection.caught_up': { readonly events: number; readonly seconds: number };
  /** The volume is full: rows stay as they are and commands are refused until there is room. */
  'projection.held': { readonly error: unknown };
  'projection.failed': { readonly error: unknown };
  /** Rows are damaged and made again from the log; requests that need them are refused meanwhile. */
  'rows.damaged': { readonly projections: readonly string[]; readonly error: unknown };
  'rows.remade': { readonly projection: string; readonly events: number; readonly seconds: number };
  /** A projection or reactor has stopped at this event. Without a stream, the log cannot be read. */
  'follower.stopped': {
    readonly follower: string;
    readonly stream?: string;
    readonly revision?: number;
    readonly error: unknown;
  };
  /** A reaction or a task of the sweeper has succeeded after a failure. */
  'follower.resumed': { readonly follower: string; readonly task?: string };
  /** They begin with the first event; what was done is not done twice. */
  'reactors.begun_again': { readonly reason: string; readonly reactors: readonly string[] };
  'reaction.failed': { readonly reactor: string; readonly stream: string; readonly error: unknown };
  /** Once: a checkpoint could not be written, and is tried again. */
  'audit.unsigned': { readonly error: unknown };
  /** A key that is not believed; at each start, and when it appears. */
  'audit.key_passed_over': { readonly stream: string; readonly revision: number };
  /** A foreign checkpoint that changes nothing. */
  'audit.checkpoint_passed_over': { readonly stream: string; readonly revision: number };
  /** None of the log's keys is derived from the secrets: nothing is signed until an operator begins a new part. */
  'audit.no_key': Readonly<Record<string, never>>;
  /** Once, and again for another reason or when it is over. */
  'audit.sink_lost': { readonly sink: string; readonly error: unknown };
  'audit.sink_back': { readonly sink: string };
  /** Uses or refused attempts could not be written; what fits in memory is tried again. */
  'access.unrecorded': { readonly error: unknown };
  /** Requests for models are refused, because their accounts cannot be written to disk. */
  'usage.unwritten': { readonly error: unknown };
  'usage.written': Readonly<Record<string, never>>;
  /** Accounts wait on disk, because the event store does not take them. */
  'usage.unsent': { readonly error: unknown };
  'usage.sent': Readonly<Record<string, never>>;
  /** Decisions that were dropped for lack of room since the last signal. */
  'policies.unrecorded': { readonly decisions: number };
  /** Totals could not be written; tried again each minute. */
  'usage.untold': { readonly error: unknown };
  /** At the start: requests that were in flight at the end of the last run, and damaged lines of the journal. */
  'usage.recovered': { readonly abandoned: number; readonly damaged: number };
  /** At the start: begun requests that the journal has lost; they are not charged. */
  'usage.missing': { readonly requests: number | 'unknown'; readonly dir: string };
  'prices.declared': { readonly models: readonly string[] };
  'store.awaited': { readonly reason: string };
  /** At the start: a setting of the connection string has no effect. */
  'store.option_ignored': { readonly option: string; readonly reason: string };
  /** At the start: waits for another process that has the embedded store. */
  'store.in_use': { readonly dir: string; readonly holder: string };
  /** Commands are refused; repeated while it lasts. */
  'store.lost': { readonly reason: string };
  'store.away': { readonly reason: string; readonly forMs: number };
  'store.back': { readonly afterMs: number };
  /** At the start: the volume is too full, so the embedded store refuses writes. */
  'store.read_only': { readonly dir: string; readonly freeBytes: number; readonly neededBytes: number };
  'store.moved': Readonly<Record<string, never>>;
  /** A reader of the log had to reconnect while commands were accepted. */
  'store.stumbled': { readonly reason: string };
  /** At the start: the saved windows of a family; `refused` are unusable parts of its files. */
  'limits.restored': {
    readonly family: string;
    readonly records: number;
    readonly refused: readonly string[];
    readonly halfFull: boolean;
  };
  /** A restart now would forget changes of the windows. */
  'limits.unsaved': { readonly error: unknown };
  /** A broken invariant of a request's limits. */
  'limits.trouble': {
    readonly kind: string;
    readonly key: string;
    readonly organization: string;
    readonly ageMs?: number;
  };
  'models.reloaded': { readonly models: readonly string[] };
  'models.refused': { readonly fault: string };
  'tiers.reloaded': { readonly file: string };
  'tiers.refused': { readonly file: string; readonly fault: string };
  'first_run.left': { readonly to: string; readonly organizationId: string };
  /** Another gateway has claimed the first run and not finished it. */
  'first_run.unfinished': { readonly by: string; readonly advice: string };
  /** Fingerprints of the secrets were recorded in an older log: others are refused from now on. */
  'secrets.accepted': { readonly pepper: string; readonly masterKey: string };
  /** An upstream failed; its client does not get the reason. @see UpstreamError.reason */
  'upstream.failed': {
    readonly requestId: string;
    readonly code: string;
    readonly reason: string;
    readonly length: number | undefined;
  };
  /** An upstream gets no requests but probes, until one is answered. */
  'upstream.opened': { readonly model: string; readonly upstream: string; readonly reason: string };
  'upstream.closed': { readonly model: string; readonly upstream: string };
  /** Once, until spans can be sent again. */
  'traces.unsent': { readonly reason: string };
  'traces.sent': Readonly<Record<string, never>>;
  'certificate.reloaded': { readonly validTo: string };
  /** The new certificate cannot be used; the old one stays. */
  'certificate.refused': { readonly fault: string };
  /** The served certificate has expired, and the files have no other. */
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
export const signalNames = Object.keys(every) as readonly SignalName[];

type Listener = <N extends SignalName>(name: N, signal: Signals[N]) => void;

const listeners = new Set<Listener>();

/** @returns a function that ends the subscription */
export const onSignal = (listener: Listener): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const publish = <N extends SignalName>(name: N, signal: Signals[N]): void => {
  for (const listener of listeners) listener(name, signal);
};
