import { start } from '../../src/limits/count-request.ts';
import { inferenceWindows } from '../../src/limits/families.ts';
import { inspect } from '../../src/limits/inspect.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { release, settle } from '../../src/limits/settle.ts';
import { snapshot } from '../../src/limits/snapshot/snapshot.ts';
import type { Ticket } from '../../src/limits/window/ticket.ts';
import { limitSubject, type WindowStore } from '../../src/limits/window/window-store.ts';

export const wall = 1_790_000_000_000;

export const drain = (store: WindowStore, wallMs: number, nowMs: number, most?: number): Uint8Array[] => {
  const chunks: Uint8Array[] = [];
  for (;;) {
    const chunk = snapshot(store, wallMs, nowMs, most);
    if (chunk === null) return chunks;
    chunks.push(chunk);
  }
};

export const inferenceOf = (tier: 0 | 1 | 5 = 0) => inferenceWindows({ tierOf: () => tier });
export const used = (store: WindowStore, now: number, who: readonly string[] = ['k', 'p', 'o']) =>
  who.map((id, scope) => inspect(store, store.scopes[scope]!, id, now)?.windows.map((window) => window.used));

/** A store with something in every window. */
export const busy = (now = 0) => {
  const store = inferenceOf();
  const me = limitSubject('k', 'p', 'o');
  for (let n = 0; n < 20; n++) release(store, start(store, me, now + n * 100) as Ticket);
  settle(store, reserve(store, start(store, me, now + 2_000) as Ticket, 700, now + 2_000) as Ticket, 600);
  return { store, me };
};
