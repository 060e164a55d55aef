import type { Expected } from '../../codec/expected.ts';
import type { UuidKey } from '../../codec/uuid.ts';
import { isSoftDeleted } from '../index/metadata.ts';
import type { Stream, Streams } from '../index/streams.ts';
import type { RecentIds } from './recent-ids.ts';

/** The decision on an append. */
export type Verdict =
  | { readonly is: 'write'; readonly undelete: boolean }
  /** The same events are there; answered as the first time. */
  | { readonly is: 'again'; readonly revision: number; readonly position: number }
  | { readonly is: 'wrong-version'; readonly current: number }
  | { readonly is: 'deleted' };

export interface Lookup {
  readonly streams: Streams;
  readonly recent: RecentIds;
  /** The event at this revision, committed or not; undefined when it is gone. */
  idAt(stream: Stream, revision: number): { id: UuidKey; position: number } | undefined;
}

/** Decides an append by the newest state, committed or not. */
export function decide(stream: Stream, expected: Expected, ids: readonly UuidKey[], lookup: Lookup): Verdict {
  if (stream.tombstoned) return { is: 'deleted' };
  const metastream = lookup.streams.metastreamOf(stream);
  const softDeleted = isSoftDeleted(stream.metadata);
  if (expected === 'any' || expected === 'stream_exists') {
    if (expected === 'stream_exists') {
      if (softDeleted) return { is: 'deleted' };
      if (stream.last < 0 && metastream.last < 0) return { is: 'wrong-version', current: -1 };
    }
    return byRecentIds(stream, ids, lookup.recent, softDeleted);
  }
  const revision = expected === 'no_stream' ? -1 : expected;
  if (revision > stream.last) return { is: 'wrong-version', current: stream.last };
  if (revision < stream.last) return byRevision(stream, Number(revision), ids, lookup, softDeleted);
  return { is: 'write', undelete: softDeleted };
}

function byRecentIds(stream: Stream, ids: readonly UuidKey[], recent: RecentIds, softDeleted: boolean): Verdict {
  let last: { revision: number; position: number } | undefined;
  for (const id of ids) {
    const written = recent.find(id, stream.name);
    if (written === undefined) {
      return last === undefined
        ? { is: 'write', undelete: softDeleted }
        : { is: 'wrong-version', current: stream.last };
    }
    last = written;
  }
  return last === undefined
    ? { is: 'write', undelete: false }
    : { is: 'again', revision: last.revision, position: last.position };
}

function byRevision(
  stream: Stream,
  expected: number,
  ids: readonly UuidKey[],
  lookup: Lookup,
  softDeleted: boolean,
): Verdict {
  let revision = expected;
  let position = 0;
  for (const id of ids) {
    revision++;
    const there = lookup.idAt(stream, revision);
    if (there?.id === id) {
      position = there.position;
      continue;
    }
    if (revision === expected + 1 && expected === -1 && softDeleted) return { is: 'write', undelete: true };
    return { is: 'wrong-version', current: stream.last };
  }
  if (ids.length === 0) return { is: 'wrong-version', current: stream.last };
  return { is: 'again', revision, position };
}
