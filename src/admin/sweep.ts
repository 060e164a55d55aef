import { StoreUnavailable } from '../kernel/store/store.ts';
import { publish } from '../telemetry.ts';
import type { Administration } from './command.ts';
import { expireKeys } from './keys/expiry.ts';
import { endAbandonedPolicies } from './policies/policy-reactions.ts';
import { endAbandonedAdminKeys, endAbandonedAdmissions } from './reactions.ts';

const everyMs = 60_000;
/** The name of a failure of every task. */
const store = 'the event store';

const tasks: Readonly<Record<string, (admin: Administration) => Promise<void>>> = {
  'day-keys': async ({ dayKeys, clock }) => dayKeys.destroyOld(clock.wall()),
  admissions: endAbandonedAdmissions,
  'admin-key-admissions': endAbandonedAdminKeys,
  'policy-admissions': endAbandonedPolicies,
  expiry: expireKeys,
};

/** Runs the periodic tasks. Logs the first failure of a task and its recovery; an unavailable store is one failure of all. */
export const sweeper = (admin: Administration): (() => Promise<void>) => {
  const failing = new Set<string>();
  const failed = (task: string, error: unknown): void => {
    if (!failing.has(task)) publish('reaction.failed', { reactor: 'sweeper', stream: task, error });
    failing.add(task);
  };
  const succeeded = (task: string): void => {
    if (failing.delete(task)) publish('follower.resumed', { follower: 'sweeper', task });
  };
  return async () => {
    for (const [name, task] of Object.entries(tasks)) {
      try {
        await task(admin);
        succeeded(name);
      } catch (error) {
        // The other tasks would only wait for the store, too.
        if (error instanceof StoreUnavailable) return failed(store, error);
        failed(name, error);
      }
    }
    succeeded(store);
  };
};

/** @returns a function that stops it and waits for the running sweep */
export const sweepEveryMinute = (admin: Administration): (() => Promise<void>) => {
  const sweep = sweeper(admin);
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= sweep().finally(() => {
      running = undefined;
    });
  }, everyMs);
  return async () => {
    clearInterval(timer);
    await running;
  };
};
