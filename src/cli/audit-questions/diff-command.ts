import { Command } from 'commander';
import { auditRows } from '../../../projections/audit-log.ts';
import { historyId, renderChanges, renderEffective, renderEvent } from '../../admin/audit/history-object.ts';
import { type Diff, diffOf, type EventChange } from '../../audit/diff.ts';
import { nameOf } from '../../audit/effective.ts';
import { checkId, type Step } from '../../audit/history.ts';
import { noHistoryOf, type Past, pastOf } from '../../audit/past.ts';
import { seconds, systemClock } from '../../clock.ts';
import type { RowReader } from '../../kernel/rows/rows.ts';
import { allRows } from '../all-rows.ts';
import { jsonOf, listing, type Output } from '../table/listing.ts';
import { printable, type Terminal, UsageError } from '../terminal.ts';
import { checkSpan, noteWhatIsAhead, parseTime } from './moment.ts';
import { reading, readingRows } from './reading.ts';
import { type Field, sheet, widthOf } from './sheet.ts';
import { actorAt, called, changeOf, isShown, labelOf, reasonOf, textOf, type When, whenIn } from './words.ts';

interface Options extends Output {
  readonly from: number;
  readonly to?: number;
}

export const diffCommand = (terminal: Terminal): Command =>
  listing(new Command('diff'))
    .description('What changed between two moments, field by field; of an organization, all that it has')
    .argument('<id>', 'org_…, proj_…, key_…, akey_…, pol_… or oac_…')
    .requiredOption('--from <time>', 'a time, or a date (its first moment, UTC)', parseTime)
    .option('--to <time>', 'the same, inclusive; default: now', parseTime)
    .action(async (id: string, options: Options) => {
      const { from, to = systemClock.wall() } = options;
      const json = jsonOf(terminal, options);
      if (options.to === undefined && from > to) throw new UsageError('--from has not come yet.');
      checkSpan(from, to);
      const when = whenIn(options);
      noteWhatIsAhead(terminal, to, when);
      const ask = async (past: Past, ids: readonly string[]): Promise<void> => {
        const width = widthOf(terminal, options);
        let shown = 0;
        for (const each of ids) {
          const diff = await diffOf(past, each, from, to);
          if (json) json.add(asJson(diff));
          else if (hasChanged(diff))
            terminal.out(`${shown === 0 ? '' : '\n'}${await page(past, diff, from, to, { width, when })}`);
          else continue;
          shown += 1;
        }
        if (json) json.end();
        else if (shown === 0) terminal.out(`Nothing changed from ${when(from)} to ${when(to)}.\n`);
      };
      if (id.startsWith('org_')) {
        await readingRows(terminal, async (store, rows, onCorrupt) => {
          const past = pastOf(store, { onCorrupt });
          if ((await past.life(id)).length === 0) throw noHistoryOf(past, id);
          await ask(past, touched(rows, id, from, to));
        });
      } else {
        await reading(terminal, (store, onCorrupt) => {
          checkId(id);
          return ask(pastOf(store, { onCorrupt }), [id]);
        });
      }
    });

/** The organization, then by kind and id what has an audit entry in that time, and projects with such an entry. */
const touched = (rows: RowReader, organizationId: string, from: number, to: number): readonly string[] => {
  const found = new Set<string>();
  const isWithin = ({ at, type }: { readonly at: number; readonly type: string }): boolean =>
    at > from && at <= to && type !== 'access.denied';
  for (const { resourceId, projectId } of allRows(rows, auditRows, `${organizationId}:`, isWithin)) {
    found.add(resourceId);
    if (projectId !== null) found.add(projectId);
  }
  found.delete(organizationId);
  const order = ['proj_', 'key_', 'akey_', 'pol_', 'oac_'];
  const rank = (id: string): number => order.findIndex((prefix) => id.startsWith(prefix));
  return [organizationId, ...[...found].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))];
};

const hasChanged = ({ events, effective }: Diff): boolean =>
  events.length > 0 || effective.from?.status !== effective.to.status;

const standing = (step: Step | null) =>
  step && {
    last_event: historyId(step),
    effective_at: seconds(step.at),
    name: nameOf(step),
    status: step.state.status,
  };

/** The form that the HTTP API gives a history. */
const asJson = ({ id, from, to, effective, fields, events }: Diff): object => ({
  id,
  from: standing(from),
  to: standing(to),
  effective: { from: effective.from && renderEffective(effective.from), to: renderEffective(effective.to) },
  changes: renderChanges(to, fields),
  events: events.map(({ step }, i) => renderEvent(events[i - 1]?.step ?? from, step)),
});

/** @param isNew whether these events created it, so there are no old values */
const changesOf = (fields: EventChange['fields'], isNew: boolean, when: When): Field[] =>
  fields
    .filter(({ field }) => isShown(field))
    .map(
      ({ field, from, to }): Field => [
        labelOf(field),
        isNew ? textOf(field, to, when) : changeOf(field, from, to, when),
      ],
    );

interface Sheet {
  readonly width: number;
  readonly when: When;
}

const page = async (past: Past, diff: Diff, from: number, to: number, sheetOf: Sheet): Promise<string> => {
  const { width, when } = sheetOf;
  const { from: before, to: after, effective, fields, events } = diff;
  const titles: Field[] = [
    ['from', before ? `${when(from)}, event ${before.revision}` : `${when(from)}, when it did not exist`],
    ['to', `${when(to)}, event ${after.revision}`],
  ];
  const was = effective.from?.status ?? 'none';
  if (was !== effective.to.status) {
    titles.push(['effective', `${was} → ${effective.to.status}, by ${effective.to.because}`]);
  }
  // A single event shows its changes itself, and the creation of one with more events repeats what stands above.
  const sum = events.length > 1 ? changesOf(fields, before === null, when) : [];
  const parts = [sheet(called(diff.id, nameOf(after)), [...titles, ...sum], width)];
  for (const [i, event] of events.entries()) {
    const isNew = before === null && i === 0;
    const changes = isNew && events.length > 1 ? [] : changesOf(event.fields, isNew, when);
    parts.push(await eventPart(past, event.step, changes, sheetOf));
  }
  return parts.join('');
};

const eventPart = async (
  past: Past,
  step: Step,
  changes: readonly Field[],
  { width, when }: Sheet,
): Promise<string> => {
  const { actor, request_id } = step.event.metadata;
  const reason = reasonOf(actor, step.event.data);
  const whoAndWhy: Field[] = [
    ['by', await actorAt(past, actor, step.at)],
    ...(reason === null ? [] : [['why', printable(reason)] as const]),
    ...(request_id === undefined ? [] : [['request', request_id] as const]),
  ];
  const title = `${when(step.at)}  event ${step.revision}: ${step.event.type}`;
  return sheet(title, [...changes, ...whoAndWhy], width, 2);
};
