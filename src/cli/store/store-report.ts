import type { VerifyReport } from '../../embedded/maintenance/report.ts';
import { type Output, show } from '../table/listing.ts';
import type { Terminal } from '../terminal.ts';

/** With names like those of the API. */
export const inJson = ({ purgedStreams, lastPosition, ...report }: VerifyReport): object => ({
  ...report,
  purged_streams: purgedStreams,
  last_position: lastPosition,
});

export const showDamages = (terminal: Terminal, dir: string, report: VerifyReport, options: Output): void => {
  const { verdict, events, streams, purgedStreams, damages, more } = report;
  const purged = purgedStreams === 0 ? '' : `, ${purgedStreams} of them with expired events removed`;
  if (verdict === 'ok') {
    terminal.out(`${dir}: ok. ${events} events of ${streams} streams${purged}.\n`);
    return;
  }
  const rows = damages.map(({ position = null, stream = null, revision = null, what }) => ({
    position,
    stream,
    revision,
    what,
  }));
  show(terminal, rows, options);
  if (more > 0) terminal.out(`… and ${more} more.\n`);
};
