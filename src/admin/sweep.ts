import { StoreUnavailable } from '../kernel/store/store.ts';
import { publish } from '../telemetry.ts';
import type { Administration } from './command.ts';
import { expireKeys } from './keys/expiry.ts';
import { endAbandonedPolicies } from './policies/policy-reactions.ts';
import { endAbandonedAdminKeys, endAbandonedAdmissions } from './reactions.ts';

const everyMs = 60_000;
/** What has failed where no task could have succeeded. */
const store = 'the event store';

const tasks: Readonly<Record<string, (admin: Administration) => Promise<void>>> = {
  'day-keys': async ({ dayKeys, clock }) => dayKeys.destroyOld(clock.wall()),
  admissions: endAbandonedAdmissions,
  'admin-key-admissions': endAbandonedAdminKeys,
  'policy-admissions': endAbandonedPolicies,
  expiry: expireKeys,
};

/**
 * Does what nobody asks for and only time brings about, one task after another. A task that fails is done again next time. In
 * the log are its first failure, and its success after that; an event store that is away counts as one failure of all.
 */
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
        // The others would wait for it as long, one after another.
        if (error instanceof StoreUnavailable) return failed(store, error);
        failed(name, error);
      }
    }
    succeeded(store);
  };
};

/** Sweeps once a minute. The returned function ends that, and waits for the one that is at work. */
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
