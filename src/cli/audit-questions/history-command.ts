import { Command } from 'commander';
import { replayOf } from '../../audit/history.ts';
import type { Actor, Recorded } from '../../kernel/store/store.ts';
import { dollars } from '../output.ts';
import { jsonOf, listing, type Output } from '../table/listing.ts';
import { printable, type Terminal } from '../terminal.ts';
import { reading } from './reading.ts';
import { type Field, sheet, widthOf } from './sheet.ts';
import { kindOf, type When, whenIn } from './words.ts';

export const historyCommand = (terminal: Terminal): Command =>
  listing(new Command('history'))
    .description('Every event of one id, oldest first')
    .argument('<id>', 'org_…, proj_…, key_…, akey_…, pol_… or oac_…')
    .action(async (id: string, options: Output) => {
      const json = jsonOf(terminal, options);
      const width = widthOf(terminal, options);
      const when = whenIn(options);
      await reading(terminal, async (store, onCorrupt) => {
        const { events, corrupt } = await replayOf(store, id);
        const why = ({ revision }: Recorded): string | null => (corrupt?.revision === revision ? corrupt.why : null);
        if (!json) terminal.out(events.map((event) => page(event, why(event), width, when)).join('\n'));
        for (const event of json ? events : []) {
          const refused = why(event);
          json?.add({ ...recordedAs(event), ...(refused !== null && { corrupt: refused }) });
        }
        json?.end();
        if (corrupt) onCorrupt(corrupt);
      });
    });

export const recordedAs = ({ stream, revision, position, id, type, data, metadata }: Recorded): object => ({
  stream,
  revision,
  position: String(position),
  id,
  type,
  at: new Date(metadata.at).toISOString(),
  data,
  metadata,
});

const whoOf = ({ type, id, host, command, name, reason }: Actor): string => {
  const lines = [`${kindOf({ type, id })} ${id}${host === undefined ? '' : ` at ${host}`}`, command, name, reason];
  return lines.flatMap((line) => (line === undefined ? [] : [printable(line)])).join('\n');
};

/** A value of an event for people. */
const valueText = (name: string, value: unknown, when: When): string => {
  if (typeof value === 'number' && name.endsWith('_at')) return when(value);
  if (typeof value === 'number' && name === 'micro_dollars') return dollars(value);
  return printable(JSON.stringify(value));
};

const page = (
  { stream, revision, type, data, metadata }: Recorded,
  corrupt: string | null,
  width: number,
  when: When,
): string => {
  const { at, actor, request_id: request } = metadata;
  const fields: Field[] = [
    ...(corrupt === null ? [] : [['CORRUPT', printable(corrupt)] as const]),
    ['event', `${stream}@${revision}`],
    ['by', whoOf(actor)],
    ...(request === undefined ? [] : [['request', printable(request)] as const]),
    ...Object.entries(data).map(([name, value]): Field => [name, valueText(name, value, when)]),
  ];
  return sheet(`${when(at)}  event ${revision}: ${type}`, fields, width);
};
