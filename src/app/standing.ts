import { BrokenTree } from '../audit/log/log-signer.ts';
import { IllegalEvent } from '../kernel/aggregate/aggregate.ts';
import { CorruptStream } from '../kernel/aggregate/fold.ts';
import { NewerEvent } from '../kernel/aggregate/upcast.ts';
import type { HaltedFollower } from '../kernel/followers/halted-follower.ts';
import type { ReadModels } from '../kernel/projections/read-models.ts';
import { StoreDamaged, StreamDeleted } from '../kernel/store/store.ts';

/** A public reason; the words of foreign errors stay in the log. */
const reasonOf = (error: Error): string => {
  const isOurs = [IllegalEvent, CorruptStream, NewerEvent, BrokenTree, StreamDeleted].some(
    (kind) => error instanceof kind,
  );
  if (isOurs) return error.message;
  return error instanceof StoreDamaged ? 'a record of the event store is damaged' : 'it fails, and the log says how';
};

/** Which followers have stopped, where and why, for `/v1/ready`; undefined if none. */
export const whoStands = (standing: readonly HaltedFollower[] = []): string | undefined => {
  const said = standing.map(({ follower, at, error }) => {
    const place = at === undefined ? '' : ` at revision ${at.revision} of ${at.stream}`;
    return `${follower} stands still${place}: ${reasonOf(error)}`;
  });
  return said.length === 0 ? undefined : said.join('; ');
};

export const absentRows = (projection: string): string =>
  `The rows of ${projection} were damaged and are being made again from the log.`;

/** Which read models are stopped or absent, and why, for `/v1/ready`; undefined if none. */
export const whatLacks = (models: Pick<ReadModels, 'stopped' | 'absent'> | undefined): string | undefined => {
  const absent = models?.absent ?? [];
  const said = [
    whoStands(models?.stopped),
    absent.length > 0 ? `made again from the log: ${absent.join(', ')}` : undefined,
  ];
  return said.filter((each) => each !== undefined).join('; ') || undefined;
};
