import { publish } from '../telemetry.ts';
import type { Administration } from './command.ts';
import { expireKeys } from './keys/expiry.ts';
import { endAbandonedPolicies } from './policies/policy-reactions.ts';
import { endAbandonedAdminKeys, endAbandonedAdmissions } from './reactions.ts';

const everyMs = 60_000;

const tasks: Readonly<Record<string, (admin: Administration) => Promise<void>>> = {
  'day-keys': async ({ dayKeys, clock }) => dayKeys.destroyOld(clock.wall()),
  admissions: endAbandonedAdmissions,
  'admin-key-admissions': endAbandonedAdminKeys,
  'policy-admissions': endAbandonedPolicies,
  expiry: expireKeys,
};

/** What nobody asks for and only time brings about, one after another. A task that fails is told and done again next time. */
export const sweep = async (admin: Administration): Promise<void> => {
  for (const [stream, task] of Object.entries(tasks)) {
    await task(admin).catch((error: unknown) => publish('reaction.failed', { reactor: 'sweeper', stream, error }));
  }
};

/** Sweeps once a minute. The returned function ends that, and waits for the one that is at work. */
export const sweepEveryMinute = (admin: Administration): (() => Promise<void>) => {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= sweep(admin).finally(() => {
      running = undefined;
    });
  }, everyMs);
  return async () => {
    clearInterval(timer);
    await running;
  };
};
