type Nothing = Record<string, never>;

/** Gives a signal its type; there is no value. */
const of = <T>(): Readonly<T> => undefined as T;

/** Signals for loggers and metrics. A signal never carries a secret, a prompt or an answer. */
const signals = {
  'request.failed': of<{ requestId: string; error: unknown }>(),
  'command.recorded': of<{
    requestId: string | undefined;
    stream: string;
    revision: number;
    events: readonly string[];
  }>(),
  /** A foreign stream with a name like ours; once for each. */
  'stream.passed_over': of<{ stream: string; type: string }>(),
  'projection.rebuilt': of<{ reason: string; projections: readonly string[] }>(),
  /** At the start, every few seconds: how much of the log has been read, null while its end is unknown. */
  'projection.catching_up': of<{ events: number; percent: number | null; seconds: number }>(),
  'projection.caught_up': of<{ events: number; seconds: number }>(),
  /** The volume is full: rows stay as they are and commands are refused until there is room. */
  'projection.held': of<{ error: unknown }>(),
  'projection.failed': of<{ error: unknown }>(),
  /** Rows are damaged and made again from the log; requests that need them are refused meanwhile. */
  'rows.damaged': of<{ projections: readonly string[]; error: unknown }>(),
  'rows.remade': of<{ projection: string; events: number; seconds: number }>(),
  /** A projection or reactor has stopped at this event. Without a stream, the log cannot be read. */
  'follower.stopped': of<{ follower: string; stream?: string; revision?: number; error: unknown }>(),
  /** A reaction or a task of the sweeper has succeeded after a failure. */
  'follower.resumed': of<{ follower: string; task?: string }>(),
  /** They begin with the first event; what was done is not done twice. */
  'reactors.begun_again': of<{ reason: string; reactors: readonly string[] }>(),
  'reaction.failed': of<{ reactor: string; stream: string; error: unknown }>(),
  /** Once: a checkpoint could not be written, and is tried again. */
  'audit.unsigned': of<{ error: unknown }>(),
  /** A key that is not believed; at each start, and when it appears. */
  'audit.key_passed_over': of<{ stream: string; revision: number }>(),
  /** A foreign checkpoint that changes nothing. */
  'audit.checkpoint_passed_over': of<{ stream: string; revision: number }>(),
  /** None of the log's keys is derived from the secrets: nothing is signed until an operator begins a new part. */
  'audit.no_key': of<Nothing>(),
  /** Once, and again for another reason or when it is over. */
  'audit.sink_lost': of<{ sink: string; error: unknown }>(),
  'audit.sink_back': of<{ sink: string }>(),
  /** Uses or refused attempts could not be written; what fits in memory is tried again. */
  'access.unrecorded': of<{ error: unknown }>(),
  /** Requests for models are refused, because their accounts cannot be written to disk. */
  'usage.unwritten': of<{ error: unknown }>(),
  'usage.written': of<Nothing>(),
  /** Accounts wait on disk, because the event store does not take them. */
  'usage.unsent': of<{ error: unknown }>(),
  'usage.sent': of<Nothing>(),
  /** Decisions that were dropped for lack of room since the last signal. */
  'policies.unrecorded': of<{ decisions: number }>(),
  /** Totals could not be written; tried again each minute. */
  'usage.untold': of<{ error: unknown }>(),
  /** At the start: requests that were in flight at the end of the last run, and damaged lines of the journal. */
  'usage.recovered': of<{ abandoned: number; damaged: number }>(),
  /** At the start: begun requests that the journal has lost; they are not charged. */
  'usage.missing': of<{ requests: number | 'unknown'; dir: string }>(),
  /** At the start, until the log has the sums of projects and keys: they were built from the accounts since then. */
  'usage.totals_built': of<{ since: string }>(),
  'prices.declared': of<{ models: readonly string[] }>(),
  'store.awaited': of<{ reason: string }>(),
  /** At the start: a setting of the connection string has no effect. */
  'store.option_ignored': of<{ option: string; reason: string }>(),
  /** At the start: waits for another process that has the embedded store. */
  'store.in_use': of<{ dir: string; holder: string }>(),
  /** Commands are refused; repeated while it lasts. */
  'store.lost': of<{ reason: string }>(),
  'store.away': of<{ reason: string; forMs: number }>(),
  'store.back': of<{ afterMs: number }>(),
  /** At the start: the volume is too full, so the embedded store refuses writes. */
  'store.read_only': of<{ dir: string; freeBytes: number; neededBytes: number }>(),
  'store.moved': of<Nothing>(),
  /** A reader of the log had to reconnect while commands were accepted. */
  'store.stumbled': of<{ reason: string }>(),
  /** At the start: the saved windows of a family; `refused` are unusable parts of its files. */
  'limits.restored': of<{ family: string; records: number; refused: readonly string[]; halfFull: boolean }>(),
  /** A restart now would forget changes of the windows. */
  'limits.unsaved': of<{ error: unknown }>(),
  /** A broken invariant of a request's limits. */
  'limits.trouble': of<{ kind: string; key: string; organization: string; ageMs?: number }>(),
  'models.reloaded': of<{ models: readonly string[] }>(),
  'models.refused': of<{ fault: string }>(),
  /** An alias of a project is the id of a model by now, which goes before it (contract B.2). */
  'models.alias_hidden': of<{ project: string; alias: string }>(),
  'tiers.reloaded': of<{ file: string }>(),
  'tiers.refused': of<{ file: string; fault: string }>(),
  'first_run.left': of<{ to: string; organizationId: string }>(),
  /** Another gateway has claimed the first run and not finished it. */
  'first_run.unfinished': of<{ by: string; advice: string }>(),
  /** Fingerprints of the secrets were recorded in an older log: others are refused from now on. */
  'secrets.accepted': of<{ pepper: string; masterKey: string }>(),
  /** An upstream failed; its client does not get the reason. @see UpstreamError.reason */
  'upstream.failed': of<{ requestId: string; code: string; reason: string; length: number | undefined }>(),
  /** An upstream gets no requests but probes, until one is answered. */
  'upstream.opened': of<{ model: string; upstream: string; reason: string }>(),
  'upstream.closed': of<{ model: string; upstream: string }>(),
  /** An upstream sent bytes that no request had asked for, such as a second answer; their connection is closed. */
  'upstream.unasked': of<{ model: string; upstream: string }>(),
  /** Once, until spans can be sent again. */
  'traces.unsent': of<{ reason: string }>(),
  'traces.sent': of<Nothing>(),
  'certificate.reloaded': of<{ validTo: string }>(),
  /** The new certificate cannot be used; the old one stays. */
  'certificate.refused': of<{ fault: string }>(),
  /** The served certificate has expired, and the files have no other. */
  'certificate.expired': of<{ validTo: string }>(),
  'server.draining': of<{ inFlight: number }>(),
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
