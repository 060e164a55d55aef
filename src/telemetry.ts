type Nothing = Readonly<Record<string, never>>;

/** Gives a signal its type; there is no value. */
const of = <T>(): T => undefined as T;

/** Signals for loggers and metrics. A signal never carries a secret, a prompt or an answer. */
const signals = {
  'request.failed': of<{ readonly requestId: string; readonly error: unknown }>(),
  'command.recorded': of<{
    readonly requestId: string | undefined;
    readonly stream: string;
    readonly revision: number;
    readonly events: readonly string[];
  }>(),
  /** A foreign stream with a name like ours; once for each. */
  'stream.passed_over': of<{ readonly stream: string; readonly type: string }>(),
  'projection.rebuilt': of<{ readonly reason: string; readonly projections: readonly string[] }>(),
  /** At the start, every few seconds: how much of the log has been read, null while its end is unknown. */
  'projection.catching_up': of<{
    readonly events: number;
    readonly percent: number | null;
    readonly seconds: number;
  }>(),
  'projection.caught_up': of<{ readonly events: number; readonly seconds: number }>(),
  /** The volume is full: rows stay as they are and commands are refused until there is room. */
  'projection.held': of<{ readonly error: unknown }>(),
  'projection.failed': of<{ readonly error: unknown }>(),
  /** Rows are damaged and made again from the log; requests that need them are refused meanwhile. */
  'rows.damaged': of<{ readonly projections: readonly string[]; readonly error: unknown }>(),
  'rows.remade': of<{ readonly projection: string; readonly events: number; readonly seconds: number }>(),
  /** A projection or reactor has stopped at this event. Without a stream, the log cannot be read. */
  'follower.stopped': of<{
    readonly follower: string;
    readonly stream?: string;
    readonly revision?: number;
    readonly error: unknown;
  }>(),
  /** A reaction or a task of the sweeper has succeeded after a failure. */
  'follower.resumed': of<{ readonly follower: string; readonly task?: string }>(),
  /** They begin with the first event; what was done is not done twice. */
  'reactors.begun_again': of<{ readonly reason: string; readonly reactors: readonly string[] }>(),
  'reaction.failed': of<{ readonly reactor: string; readonly stream: string; readonly error: unknown }>(),
  /** Once: a checkpoint could not be written, and is tried again. */
  'audit.unsigned': of<{ readonly error: unknown }>(),
  /** A key that is not believed; at each start, and when it appears. */
  'audit.key_passed_over': of<{ readonly stream: string; readonly revision: number }>(),
  /** A foreign checkpoint that changes nothing. */
  'audit.checkpoint_passed_over': of<{ readonly stream: string; readonly revision: number }>(),
  /** None of the log's keys is derived from the secrets: nothing is signed until an operator begins a new part. */
  'audit.no_key': of<Nothing>(),
  /** Once, and again for another reason or when it is over. */
  'audit.sink_lost': of<{ readonly sink: string; readonly error: unknown }>(),
  'audit.sink_back': of<{ readonly sink: string }>(),
  /** Uses or refused attempts could not be written; what fits in memory is tried again. */
  'access.unrecorded': of<{ readonly error: unknown }>(),
  /** Requests for models are refused, because their accounts cannot be written to disk. */
  'usage.unwritten': of<{ readonly error: unknown }>(),
  'usage.written': of<Nothing>(),
  /** Accounts wait on disk, because the event store does not take them. */
  'usage.unsent': of<{ readonly error: unknown }>(),
  'usage.sent': of<Nothing>(),
  /** Decisions that were dropped for lack of room since the last signal. */
  'policies.unrecorded': of<{ readonly decisions: number }>(),
  /** Totals could not be written; tried again each minute. */
  'usage.untold': of<{ readonly error: unknown }>(),
  /** At the start: requests that were in flight at the end of the last run, and damaged lines of the journal. */
  'usage.recovered': of<{ readonly abandoned: number; readonly damaged: number }>(),
  /** At the start: begun requests that the journal has lost; they are not charged. */
  'usage.missing': of<{ readonly requests: number | 'unknown'; readonly dir: string }>(),
  'prices.declared': of<{ readonly models: readonly string[] }>(),
  'store.awaited': of<{ readonly reason: string }>(),
  /** At the start: a setting of the connection string has no effect. */
  'store.option_ignored': of<{ readonly option: string; readonly reason: string }>(),
  /** At the start: waits for another process that has the embedded store. */
  'store.in_use': of<{ readonly dir: string; readonly holder: string }>(),
  /** Commands are refused; repeated while it lasts. */
  'store.lost': of<{ readonly reason: string }>(),
  'store.away': of<{ readonly reason: string; readonly forMs: number }>(),
  'store.back': of<{ readonly afterMs: number }>(),
  /** At the start: the volume is too full, so the embedded store refuses writes. */
  'store.read_only': of<{ readonly dir: string; readonly freeBytes: number; readonly neededBytes: number }>(),
  'store.moved': of<Nothing>(),
  /** A reader of the log had to reconnect while commands were accepted. */
  'store.stumbled': of<{ readonly reason: string }>(),
  /** At the start: the saved windows of a family; `refused` are unusable parts of its files. */
  'limits.restored': of<{
    readonly family: string;
    readonly records: number;
    readonly refused: readonly string[];
    readonly halfFull: boolean;
  }>(),
  /** A restart now would forget changes of the windows. */
  'limits.unsaved': of<{ readonly error: unknown }>(),
  /** A broken invariant of a request's limits. */
  'limits.trouble': of<{
    readonly kind: string;
    readonly key: string;
    readonly organization: string;
    readonly ageMs?: number;
  }>(),
  'models.reloaded': of<{ readonly models: readonly string[] }>(),
  'models.refused': of<{ readonly fault: string }>(),
  'tiers.reloaded': of<{ readonly file: string }>(),
  'tiers.refused': of<{ readonly file: string; readonly fault: string }>(),
  'first_run.left': of<{ readonly to: string; readonly organizationId: string }>(),
  /** Another gateway has claimed the first run and not finished it. */
  'first_run.unfinished': of<{ readonly by: string; readonly advice: string }>(),
  /** Fingerprints of the secrets were recorded in an older log: others are refused from now on. */
  'secrets.accepted': of<{ readonly pepper: string; readonly masterKey: string }>(),
  /** An upstream failed; its client does not get the reason. @see UpstreamError.reason */
  'upstream.failed': of<{
    readonly requestId: string;
    readonly code: string;
    readonly reason: string;
    readonly length: number | undefined;
  }>(),
  /** An upstream gets no requests but probes, until one is answered. */
  'upstream.opened': of<{ readonly model: string; readonly upstream: string; readonly reason: string }>(),
  'upstream.closed': of<{ readonly model: string; readonly upstream: string }>(),
  /** Once, until spans can be sent again. */
  'traces.unsent': of<{ readonly reason: string }>(),
  'traces.sent': of<Nothing>(),
  'certificate.reloaded': of<{ readonly validTo: string }>(),
  /** The new certificate cannot be used; the old one stays. */
  'certificate.refused': of<{ readonly fault: string }>(),
  /** The served certificate has expired, and the files have no other. */
  'certificate.expired': of<{ readonly validTo: string }>(),
  'server.draining': of<{ readonly inFlight: number }>(),
};

export type Signals = typeof signals;
export type SignalName = keyof Signals;

export const signalNames = Object.keys(signals) as readonly SignalName[];

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
