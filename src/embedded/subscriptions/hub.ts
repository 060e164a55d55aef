import type { Written } from '../store/commit/batch.ts';
import { LiveBatch } from './live-batch.ts';

export interface Listener {
  onLive(batch: LiveBatch): void;
}

/** Passes each commit's records to the subscriptions of $all and of their streams. */
export class Hub {
  private readonly all = new Set<Listener>();
  private readonly byStream = new Map<string, Set<Listener>>();
  count = 0;

  /** `stream` undefined: all events. @returns ends it */
  listen(stream: string | undefined, listener: Listener): () => void {
    const listeners = stream === undefined ? this.all : (this.byStream.get(stream) ?? new Set());
    if (stream !== undefined) this.byStream.set(stream, listeners);
    listeners.add(listener);
    this.count++;
    return () => {
      if (!listeners.delete(listener)) return;
      this.count--;
      if (stream !== undefined && listeners.size === 0 && this.byStream.get(stream) === listeners) {
        this.byStream.delete(stream);
      }
    };
  }

  publish(records: readonly Written[]): void {
    if (this.count === 0) return;
    const batch = new LiveBatch(records);
    for (const listener of this.all) listener.onLive(batch);
    if (this.byStream.size === 0) return;
    for (const [name, own] of groupByStream(records)) {
      const listeners = this.byStream.get(name);
      if (listeners === undefined) continue;
      const part = new LiveBatch(own);
      for (const listener of listeners) listener.onLive(part);
    }
  }
}

function groupByStream(records: readonly Written[]): Map<string, Written[]> {
  const groups = new Map<string, Written[]>();
  for (const record of records) {
    const group = groups.get(record.stream.name);
    if (group === undefined) groups.set(record.stream.name, [record]);
    else group.push(record);
  }
  return groups;
}
