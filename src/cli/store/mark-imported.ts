import { checkpointOf } from '../../audit/log/checkpoint-event.ts';
import { checkpointStream } from '../../audit/log/leaf.ts';
import { systemClock } from '../../clock.ts';
import type { RawEvent } from '../../eventstoredb/client/raw-event.ts';
import type { Target } from '../../eventstoredb/client/target.ts';
import { connect } from '../../eventstoredb/connect.ts';
import { logEvent } from '../../kernel/store/log-event.ts';
import type { Actor } from '../../kernel/store/store.ts';

const stream = 'log-imported';

/** The size of the tree that a checkpoint signs; undefined for other events. */
export const sizeSigned = ({ stream: of, type, data }: RawEvent): number | undefined => {
  if (of !== checkpointStream) return undefined;
  try {
    return checkpointOf({ type, data: JSON.parse(Buffer.from(data).toString('utf8')) as Record<string, unknown> })
      ?.checkpoint.size;
  } catch {
    return undefined;
  }
};

/** Records permanently that the log is a copy, whose verification needs a checkpoint of the original. */
export const markImported = async (
  target: Target,
  { signed, events }: { readonly signed: number; readonly events: number },
  actor: Actor,
): Promise<void> => {
  const store = connect(target);
  try {
    let revision: number | 'no_stream' = 'no_stream';
    for await (const event of store.read(stream)) revision = event.revision;
    const command = `import of ${events} events after ${revision}`;
    const event = logEvent(command, stream, 'log.imported', { size: signed, events }, systemClock, actor);
    await store.append(stream, [event], revision);
  } finally {
    await store.close();
  }
};
