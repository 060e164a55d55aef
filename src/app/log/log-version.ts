import type { Clock } from '../../clock.ts';
import { logEvent } from '../../kernel/store/log-event.ts';
import { type EventStore, WrongRevision } from '../../kernel/store/store.ts';
import { Failure } from '../../process/failure.ts';
import { version as own } from '../../version.ts';

const stream = 'log-version';
const type = 'log.written_by';

/** Patches of a release write nothing that another patch of it cannot read. */
const releaseOf = (version: string): readonly [major: number, minor: number] => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return [major, minor];
};

const isLater = (version: string, than: string): boolean => {
  const [major, minor] = releaseOf(version);
  const [thanMajor, thanMinor] = releaseOf(than);
  return major > thanMajor || (major === thanMajor && minor > thanMinor);
};

interface Known {
  /** The latest release that has written the log; undefined before 0.2.0. */
  readonly latest: string | undefined;
  readonly revision: number | 'no_stream';
}

const read = async (store: EventStore): Promise<Known> => {
  let known: Known = { latest: undefined, revision: 'no_stream' };
  for await (const { type: is, data, revision } of store.read(stream)) {
    const said = is === type && typeof data.version === 'string' ? data.version : undefined;
    const isNext = said !== undefined && (known.latest === undefined || isLater(said, known.latest));
    known = { latest: isNext ? said : known.latest, revision };
  }
  return known;
};

const refuse = (latest: string, version: string): never => {
  throw new Failure(
    `This data was written by Weir ${latest}, and this is Weir ${version}, which may not know all that is in it: start ${latest} or a later one, or restore a backup of before the upgrade.`,
  );
};

/** @throws Failure if a later release has written the log: this one would ignore events that it does not know */
export const refuseLaterLog = async (store: EventStore, version = own): Promise<void> => {
  const { latest } = await read(store);
  if (latest !== undefined && isLater(latest, version)) refuse(latest, version);
};

/** Records that this release writes the log from now on. @throws Failure as above */
export const signLog = async (store: EventStore, clock: Clock, version = own): Promise<void> => {
  for (;;) {
    const { latest, revision } = await read(store);
    if (latest !== undefined && isLater(latest, version)) refuse(latest, version);
    if (latest !== undefined && !isLater(version, latest)) return;
    const event = logEvent(`${version} after ${revision}`, stream, type, { version }, clock);
    try {
      await store.append(stream, [event], revision);
      return;
    } catch (error) {
      // Another gateway was first: read again.
      if (!(error instanceof WrongRevision)) throw error;
    }
  }
};
