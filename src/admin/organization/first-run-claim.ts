import type { Clock, Millis } from '../../clock.ts';
import { logEvent } from '../../kernel/store/log-event.ts';
import { type EventStore, WrongRevision } from '../../kernel/store/store.ts';

const stream = 'log-first_run';
const type = 'log.first_run_claimed';

/** The gateway that creates, or has created, the first resources of an empty log. */
export interface Claim {
  /** Identifies the plan. */
  readonly organizationId: string;
  readonly host: string;
  readonly pid: number;
  /** Wall time. */
  readonly at: Millis;
}

/** Claims the first run for one plan among all gateways (contract K.3); idempotent. @returns the claim that won the race */
export const claimFirstRun = async (
  store: EventStore,
  clock: Clock,
  { organizationId, host, pid }: Omit<Claim, 'at'>,
): Promise<Claim> => {
  const event = logEvent(organizationId, stream, type, { organization_id: organizationId, host, pid }, clock);
  try {
    await store.append(stream, [event], 'no_stream');
    return { organizationId, host, pid, at: event.metadata.at };
  } catch (error) {
    const holding = error instanceof WrongRevision ? await knownClaim(store) : undefined;
    if (holding === undefined) throw error;
    return holding;
  }
};

const knownClaim = async (store: EventStore): Promise<Claim | undefined> => {
  for await (const { data, metadata } of store.read(stream, { limit: 1 })) {
    const { organization_id: organizationId, host, pid } = data;
    return { organizationId: String(organizationId), host: String(host), pid: Number(pid), at: metadata.at };
  }
  return undefined;
};
