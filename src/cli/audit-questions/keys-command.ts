import { Command } from 'commander';
import { renderActor } from '../../admin/audit/audit-logs.ts';
import { historyId, renderEffective } from '../../admin/audit/history-object.ts';
import type { LostSecret } from '../../app/secrets/lost-secrets.ts';
import { nameOf, ownersAt } from '../../audit/effective.ts';
import { checkId } from '../../audit/history.ts';
import { type KeyAt, keysAt } from '../../audit/keys-at.ts';
import { type Past, pastOf, standingOf } from '../../audit/past.ts';
import { seconds, systemClock } from '../../clock.ts';
import type { ProjectKey } from '../../domain/key/project-key.ts';
import { jsonOf, listing, type Output } from '../table/listing.ts';
import { printable, type Terminal, UsageError } from '../terminal.ts';
import { noteWhatIsAhead, parseTime } from './moment.ts';
import { reading } from './reading.ts';
import { effectiveOf, inWords, lossesAt, sinceOf } from './secret-words.ts';
import { type Field, sheet, widthOf } from './sheet.ts';
import { actorAt, ahead, called, reasonOf, type When, whenIn } from './words.ts';

export const keysCommand = (terminal: Terminal): Command =>
  listing(new Command('keys'))
    .description('Which keys a project had at a moment, which of them could act, and why the others could not')
    .argument('<project>', 'proj_…')
    .option('--at <time>', 'a time, or a date (its first moment, UTC); default: now', parseTime)
    .action((id: string, options: Output & { readonly at?: number }) =>
      reading(terminal, async (store, onCorrupt) => {
        checkId(id);
        if (!id.startsWith('proj_')) throw new UsageError(`${printable(id)} is not the id of a project: proj_….`);
        const now = systemClock.wall();
        const at = options.at ?? now;
        const when = whenIn(options);
        noteWhatIsAhead(terminal, at, when);
        const past = pastOf(store, { onCorrupt });
        const project = await standingOf(past, id, { time: at });
        const lossOf = await lossesAt(terminal, store, at, now);
        const keys = (await keysAt(past, project, at)).map((key): Judged => {
          const lost = key.key && key.acts !== 'no' ? lossOf(key.key) : undefined;
          return lost ? { ...key, acts: lost.isCertain ? 'no' : 'unknown', lost } : key;
        });
        const json = jsonOf(terminal, options);
        if (json) {
          for (const key of keys) json.add(asJson(key));
          return json.end();
        }
        const width = widthOf(terminal, options);
        const count = (acts: Judged['acts']): number => keys.filter((key) => key.acts === acts).length;
        const [reading, unknown] = [count('reading'), count('unknown')];
        const head = sheet(
          `Keys of ${called(id, nameOf(project))}`,
          [
            ['as of', when(at)],
            ['project', project.state.status],
            ...(await ownersAt(past, project, at)).map(
              (owner): Field => ['belongs to', `${called(owner.id, owner.name)}, ${owner.status}`],
            ),
            [
              'keys',
              `${keys.length}: ${count('yes')} could act, ${reading > 0 ? `${reading} could only read, ` : ''}${count('no')} could not${unknown > 0 ? `, of ${unknown} it is unknown` : ''}`,
            ],
          ],
          width,
        );
        const pages: string[] = [head];
        for (const key of keys) pages.push(await page(past, key, at, width, when));
        return terminal.out(pages.join('\n'));
      }),
    );

/** A key whose pepper was lost could not act, or that is unknown. */
type Judged = Omit<KeyAt, 'acts'> & { readonly acts: KeyAt['acts'] | 'unknown'; readonly lost?: LostSecret };

const words = { yes: 'yes', reading: 'only to read', no: 'no', unknown: 'unknown' } as const;

const causeOf = ({ cause, lost }: Judged) => {
  if (!lost) return cause;
  const { event } = lost;
  return event && { id: event.stream, revision: event.revision, at: event.metadata.at, event };
};

const asJson = (judged: Judged): object => {
  const { id, key, effective, acts, lost } = judged;
  const cause = causeOf(judged);
  const { name = null, permissions = null, createdAt, expiresAt } = (key?.state.data ?? {}) as Partial<ProjectKey>;
  const why = cause && {
    id: historyId(cause),
    type: cause.event.type,
    effective_at: seconds(cause.at),
    actor: renderActor(cause.event.metadata.actor),
    request_id: cause.event.metadata.request_id ?? null,
  };
  return {
    id,
    name,
    status: key?.state.status ?? 'absent',
    effective: lost ? effectiveOf(lost) : renderEffective(effective),
    acts,
    cause: why,
    permissions,
    created_at: createdAt === undefined ? null : seconds(createdAt),
    expires_at: expiresAt == null ? null : seconds(expiresAt),
  };
};

const page = async (past: Past, judged: Judged, at: number, width: number, when: When): Promise<string> => {
  const { id, key, effective, acts, lost } = judged;
  const cause = causeOf(judged);
  if (!key) return sheet(id, [['could act', 'no: admitted by the project and never made']], width);
  const { name, permissions, createdAt, expiresAt } = key.state.data as ProjectKey;
  const why = acts === 'yes' ? '' : `: ${lost ? inWords(lost) : `${effective.status}, by ${effective.because}`}`;
  const fields: Field[] = [['could act', `${words[acts]}${why}`]];
  if (acts !== 'yes' && cause) {
    const { actor, request_id } = cause.event.metadata;
    const reason = reasonOf(actor, cause.event.data);
    const since = `${when(cause.at)}: ${cause.event.type}${reason === null ? '' : ` (${printable(reason)})`}`;
    fields.push(['since', (lost && sinceOf(lost, when)) ?? since]);
    fields.push(['by', await actorAt(past, actor, cause.at)]);
    if (request_id !== undefined) fields.push(['request', request_id]);
  }
  fields.push(['permissions', permissions.join(', ')], ['created', when(createdAt)]);
  fields.push(['expires', expiresAt === null ? 'never' : `${when(expiresAt)} (${ahead(expiresAt, at)})`]);
  return sheet(called(id, name), fields, width);
};
