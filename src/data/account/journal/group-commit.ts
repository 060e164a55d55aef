import type { Decision } from '../../../domain/policy/decision-events.ts';
import type { Settlement } from '../../../domain/usage/usage-events.ts';
import type { Begun, Entry } from './entry.ts';
import type { Journal } from './journal.ts';

/**
 * Writes all lines of one turn of the event loop with one system call. Each method resolves once the operating system has
 * the line, to whether it is written; only a settlement always is, as soon as the disk takes it.
 */
export class GroupCommit {
  readonly #journal: Pick<Journal, 'write'>;
  #entries: Entry[] = [];
  #written: Promise<boolean> | null = null;

  constructor(journal: Pick<Journal, 'write'>) {
    this.#journal = journal;
  }

  begin(begun: Begun): Promise<boolean> {
    return this.#add({ kind: 'begun', begun });
  }

  settle(settlement: Settlement): Promise<boolean> {
    return this.#add({ kind: 'settled', settlement });
  }

  decide(decision: Decision): Promise<boolean> {
    return this.#add({ kind: 'decided', decision });
  }

  /** Writes what there is now. */
  flush(): boolean {
    const entries = this.#entries;
    this.#entries = [];
    this.#written = null;
    return this.#journal.write(entries);
  }

  #add(entry: Entry): Promise<boolean> {
    this.#entries.push(entry);
    this.#written ??= new Promise((resolve) => setImmediate(() => resolve(this.flush())));
    return this.#written;
  }
}
