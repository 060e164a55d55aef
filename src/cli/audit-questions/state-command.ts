import { Command } from 'commander';
import { renderState } from '../../admin/audit/history-object.ts';
import type { LostSecret } from '../../app/secrets/lost-secrets.ts';
import { type Effective, effectiveIn, ownersAt, withLimitsInForce } from '../../audit/effective.ts';
import { checkId, type Moment } from '../../audit/history.ts';
import { pastOf, standingOf } from '../../audit/past.ts';
import { systemClock } from '../../clock.ts';
import { jsonOf, listing, type Output } from '../table/listing.ts';
import type { Terminal } from '../terminal.ts';
import { noteWhatIsAhead, parseMoment } from './moment.ts';
import { reading } from './reading.ts';
import { effectiveOf, inWords, lossesAt, sinceOf } from './secret-words.ts';
import { type Field, sheet, widthOf } from './sheet.ts';
import { actorAt, called, fieldsOf, type When, whenIn } from './words.ts';

export const stateCommand = (terminal: Terminal): Command =>
  listing(new Command('state'))
    .description('What one id was at a moment, or is now, and what it could do')
    .argument('<id>', 'org_…, proj_…, key_…, akey_…, pol_… or oac_…')
    .option('--at <time|revision>', 'a time, a date (its first moment, UTC), or the number of an event', parseMoment)
    .action((id: string, options: Output & { readonly at?: Moment }) =>
      reading(terminal, async (store, onCorrupt) => {
        checkId(id);
        const past = pastOf(store, { onCorrupt });
        const standing = await standingOf(past, id, options.at);
        const now = systemClock.wall();
        const at = momentOf(options.at, standing.at, now);
        const found = await withLimitsInForce(past, standing, at);
        const when = whenIn(options);
        noteWhatIsAhead(terminal, at, when);
        const lossOf = await lossesAt(terminal, store, at, now);
        const effective = await effectiveIn(past, found, at, (key) => lossOf(key) === undefined);
        const lost = canAct(effective) ? lossOf(found) : undefined;
        const owners = await ownersAt(past, found, at);
        const { state, revision, event } = found;
        const json = jsonOf(terminal, options);
        if (json) {
          json.add({ ...renderState(found, effective, owners, at), ...(lost && { effective: effectiveOf(lost) }) });
          return json.end();
        }
        const by = await actorAt(past, event.metadata.actor, found.at);
        const fields: Field[] = [
          ['as of', when(at)],
          ['status', state.status],
          ['effective', lost ? effectiveIs(lost, when) : `${effective.status}, by ${effective.because}`],
          ...(effective.usable_keys === undefined ? [] : [['usable keys', String(effective.usable_keys)] as const]),
          ...owners.map((owner): Field => ['belongs to', `${called(owner.id, owner.name)}, ${owner.status}`]),
          ['last change', `${when(found.at)}, event ${revision}: ${event.type}, by ${by}`],
          ...fieldsOf(found, at, when),
        ];
        return terminal.out(sheet(id, fields, widthOf(terminal, options)));
      }),
    );

const canAct = ({ status }: Effective): boolean => status === 'active' || status === 'suspended';

const effectiveIs = (lost: LostSecret, when: When): string => {
  const since = sinceOf(lost, when);
  return `${effectiveOf(lost).status}: ${inWords(lost)}${since === null ? '' : `, since ${since}`}`;
};

const momentOf = (moment: Moment | undefined, ofEvent: number, now: number): number => {
  if (moment === undefined) return now;
  return 'time' in moment ? moment.time : ofEvent;
};
