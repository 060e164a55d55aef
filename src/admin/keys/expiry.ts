import { expiringKeys } from '../../../projections/project-keys.ts';
import type { Administration } from '../command.ts';
import { waitForRowsMs } from '../reactions.ts';

/** Keys recorded at a time. */
const pageSize = 100;

/**
 * Records the expiry of every project key whose time is over (contract B.3). Nobody waits for it, since expiry is compared
 * with the clock wherever it matters; the event latches it against a clock that goes back, and is the audit log's entry.
 * Resolves once the read models show it, unless they are behind.
 */
export const expireKeys = async ({ aggregates, clock, models }: Administration): Promise<void> => {
  for (;;) {
    const at = clock.wall();
    const first = models.range(expiringKeys, { prefix: '', limit: pageSize });
    const due = first.filter(({ row }) => row.expiresAt <= at);
    const results = await Promise.all(
      due.map(({ key, row }) =>
        aggregates.projectKey.dispatch(
          row.keyId,
          'expire',
          { at },
          {
            actor: { type: 'system', id: 'sweeper' },
            commandId: `expired:${key}`,
          },
        ),
      ),
    );
    const last = results.reduce((most, { head }) => (head !== null && head > most ? head : most), 0n);
    // Until the read models show these as expired, the same ones would come again.
    if (last > 0n && !(await models.reached(last, waitForRowsMs, [expiringKeys]))) return;
    if (due.length < pageSize) return;
  }
};
