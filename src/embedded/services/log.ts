import type { Faults } from '../faults.ts';
import type { Call } from '../grpc/call.ts';
import type { Limits } from '../limits.ts';
import type { Writer } from '../store/commit/writer.ts';
import type { Streams } from '../store/index/streams.ts';
import type { Reader } from '../store/read/reader.ts';
import type { Hub } from '../subscriptions/hub.ts';

export interface Log {
  readonly streams: Streams;
  readonly reader: Reader;
  readonly writer: Writer;
  readonly hub: Hub;
  readonly limits: Limits;
  readonly faults: Faults;
  /** Wall clock, milliseconds. */
  readonly now: () => number;
  /** Call before each write. Pauses the call while too much waits. @throws UNAVAILABLE while nothing can be written */
  admit(call: Call): void;
}
