import { expiringKeys } from '../../../projections/project-keys.ts';
import type { Administration } from '../command.ts';
import { waitForRowsMs } from '../reactions.ts';

const pageSize = 100;

/** Records the expiry of project keys (contract B.3), for the audit log and so that a clock that goes back reactivates none. */
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
    // Until the read models include these, they would be found again.
    if (last > 0n && !(await models.reached(last, waitForRowsMs, [expiringKeys]))) return;
    if (due.length < pageSize) return;
  }
};
