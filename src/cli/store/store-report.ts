import Table from 'cli-table3';
import type { VerifyReport } from '../../embedded/maintenance/report.ts';
import { printable } from '../terminal.ts';

/** The findings of a check, for people. */
export const damageTable = (dir: string, report: VerifyReport): string => {
  const { verdict, events, streams, purgedStreams, damages, more } = report;
  const purged = purgedStreams === 0 ? '' : `, ${purgedStreams} of them with expired events removed`;
  if (verdict === 'ok') return `${dir}: ok. ${events} events of ${streams} streams${purged}.\n`;
  const table = new Table({ head: ['position', 'stream', 'revision', 'what'], style: { head: [], border: [] } });
  for (const { position, stream, revision, what } of damages) {
    table.push([position ?? '', printable(stream ?? ''), revision ?? '', printable(what)]);
  }
  return `${table.toString()}\n${more === 0 ? '' : `… and ${more} more.\n`}`;
};
