import { askForKey, errorOf, itemsOf, type Json, paths, use } from './calls.ts';
import type { Server } from './server.ts';

/** One key creation as its caller saw it; kept outside the server's process and files. */
interface Operation {
  readonly name: string;
  readonly project: string;
  readonly idempotencyKey: string;
  /** What the 201 said, or undefined where no answer came. */
  answered: { readonly id: string; readonly value: string; readonly body: Json } | undefined;
}

/** Creates project keys from several writers until the server is gone, and remembers every attempt and every answer. */
export class Ledger {
  readonly operations: Operation[] = [];
  readonly #run: string;
  #waiting: { count: number; resolve: () => void } | undefined;

  constructor(run: string) {
    this.#run = run;
  }

  get acknowledged(): Operation[] {
    return this.operations.filter(({ answered }) => answered !== undefined);
  }

  get unanswered(): Operation[] {
    return this.operations.filter(({ answered }) => answered === undefined);
  }

  /** Resolves once so many creations are acknowledged. */
  reached(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = { count, resolve };
    });
  }

  /** Writes until a request fails for want of a server. */
  async write(server: Server, projects: readonly string[], writers: number): Promise<void> {
    await Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        for (let i = 0; ; i++) {
          const name = `${this.#run}.${writer}.${i}`;
          const project = projects[(writer + i) % projects.length]!;
          const operation: Operation = { name, project, idempotencyKey: `ledger-${name}`, answered: undefined };
          this.operations.push(operation);
          try {
            const { status, body, text } = await askForKey(server, project, { name }, operation.idempotencyKey);
            if (status !== 201) throw new Error(`${status} ${text}`);
            const { id, value } = body as { id: string; value: string };
            operation.answered = { id, value, body };
          } catch {
            return;
          }
          if (this.#waiting && this.acknowledged.length >= this.#waiting.count) this.#waiting.resolve();
        }
      }),
    );
  }

  /** What is wrong with a server's lists, against everything that was acknowledged and attempted. */
  async faults(server: Server): Promise<string[]> {
    const faults: string[] = [];
    const listed = new Map<string, Json[]>();
    for (const project of new Set(this.operations.map(({ project }) => project))) {
      for (const key of await itemsOf(server, paths.projectKeys(project))) {
        const name = String(key.name);
        listed.set(name, [...(listed.get(name) ?? []), { ...key, project }]);
      }
    }
    for (const { name, project, answered } of this.operations) {
      const found = listed.get(name) ?? [];
      if (found.length > 1) faults.push(`${name} is there ${found.length} times`);
      if (!answered) continue;
      const { value: _, ...shown } = answered.body;
      // A key that has been looked at before has been used since.
      const unused = (key: Json): string => JSON.stringify({ ...key, last_used_at: null });
      if (found.length === 0) faults.push(`${name} was acknowledged and is not there`);
      else if (unused(found[0]!) !== unused({ ...shown, project })) faults.push(`${name} is not what was acknowledged`);
    }
    for (const { name, answered } of this.acknowledged) {
      const got = await use(server, answered!.value);
      if (got !== '200') faults.push(`the key of ${name} gets ${got}`);
    }
    return faults;
  }

  /** Sends what got no answer once more, with the same Idempotency-Key; returns what came of each. */
  async repeatUnanswered(server: Server): Promise<string[]> {
    const outcomes: string[] = [];
    for (const { name, project, idempotencyKey } of this.unanswered) {
      const { status, body } = await askForKey(server, project, { name }, idempotencyKey);
      outcomes.push(status === 201 ? '201' : `${status} ${errorOf(body).code}`);
    }
    return outcomes;
  }
}
