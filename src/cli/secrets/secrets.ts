import { Command } from 'commander';
import { adminKeyRows } from '../../../projections/admin-keys.ts';
import { oauthClientRows } from '../../../projections/oauth-clients.ts';
import { projectKeyRows } from '../../../projections/project-keys.ts';
import { anyEventLog, mayHaveEvents } from '../../app/log/event-log.ts';
import { acceptSecrets, proveSecrets } from '../../app/secrets/known-secrets.ts';
import { systemClock } from '../../clock.ts';
import { type Config, readConfig } from '../../config/config.ts';
import { atPathOf } from '../../config/file-fault.ts';
import type { RowReader } from '../../kernel/rows/rows.ts';
import type { Verifier } from '../../merkle/note.ts';
import { Failure } from '../../process/failure.ts';
import {
  dropPreviousPepper,
  hasSecrets,
  loadSecrets,
  pepperIdOf,
  rotatePepper,
  type Secrets,
} from '../../secrets/master-secrets.ts';
import { allRows } from '../all-rows.ts';
import { withExamples } from '../examples.ts';
import { asOperator, type Operator, operatorContext, recording } from '../operator.ts';
import { confirm } from '../output.ts';
import { listing, type Output, type Shown, show } from '../table/listing.ts';
import type { Terminal } from '../terminal.ts';

interface Credential {
  readonly status: string;
  readonly data: { readonly pepperId: string; readonly expiresAt?: number | null };
}

const over: ReadonlySet<string> = new Set(['revoked', 'expired', 'deleted']);

const livePerPepper = (rows: RowReader): Map<string, number> => {
  const now = systemClock.wall();
  const counts = new Map<string, number>();
  const count = (credentials: Iterable<Credential>): void => {
    for (const { status, data } of credentials) {
      if (over.has(status) || (data.expiresAt != null && data.expiresAt <= now)) continue;
      counts.set(data.pepperId, (counts.get(data.pepperId) ?? 0) + 1);
    }
  };
  count(allRows(rows, projectKeyRows, 'proj_'));
  count(allRows(rows, adminKeyRows, 'org_'));
  count(allRows(rows, oauthClientRows, 'oac_'));
  return counts;
};

const table = (secrets: Secrets, counts: ReadonlyMap<string, number>): Shown[] => {
  const known = secrets.peppers.map(pepperIdOf);
  const lost = [...counts.keys()].filter((id) => !known.includes(id));
  const used = (id: string) => ({ live_credentials: counts.get(id) ?? 0 });
  return [
    ...known.map((id, i) => ({ pepper: id, is: i === 0 ? 'current' : 'previous', ...used(id) })),
    ...lost.map((id) => ({ pepper: id, is: 'lost', ...used(id) })),
  ];
};

/** @throws Failure if the secrets are in the environment */
const folderOf = (config: Config): string => {
  if (config.PEPPER === undefined) return config.SECRETS_DIR;
  throw new Failure('The secrets come from the environment. Make PEPPER the new one and PREVIOUS_PEPPER the old one.');
};

const newPartCosts =
  'Unless they have made the last key of the audit log, it goes on under another for which nobody vouches: to whoever knows the keys of before alone, it is unproven from there on.';

/** Shown if the audit log continues under a key that no earlier key has signed. */
const newPart = (key: Verifier | undefined): string =>
  key === undefined
    ? ''
    : `A part of the audit log begins that this key signs. Hand it to whoever verifies the log, by another way than the log:\n${key.text}\n`;

const nextKey = 'Next: weir admin-key bootstrap ORG --yes makes a key that works; weir org list has the ids.\n';
const afterRotation =
  'Start every gateway anew now: until then they do not accept keys that this command line makes.\n';
const afterDrop =
  'Start every gateway anew now: until then those that run go on accepting the keys that were made under it.\n';

const examples = `
Examples:
  weir secrets show
  weir secrets rotate-pepper           then start every gateway anew, and back the secrets up
  weir secrets drop-pepper             once weir secrets show says that no key hangs on it; then start every gateway anew
  weir secrets accept                  where those of the environment are lost, and others are in place
  weir secrets create                  then weir admin-key bootstrap makes a first new key`;

const changed = async (
  terminal: Terminal,
  change: (dir: string) => Secrets,
  next: string,
  options: Output,
  called: Command,
): Promise<void> => {
  const dir = folderOf(readConfig(terminal.env));
  const work = async ({ rows, store }: Operator): Promise<void> => {
    const now = await atPathOf('SECRETS_DIR', dir, () => change(dir));
    await proveSecrets(store, systemClock, now, operatorContext(terminal, called).actor);
    show(terminal, table(now, livePerPepper(rows)), options);
    terminal.err(next);
  };
  await asOperator(terminal, work, { makesKeys: true });
};

const showPeppers = (secrets: Command, terminal: Terminal): void => {
  listing(secrets.command('show'))
    .description('List the peppers by their ids, and how many live keys and clients hang on each')
    .action((options: Output) =>
      asOperator(terminal, async ({ rows, secrets: known }) =>
        show(terminal, table(known, livePerPepper(rows)), options),
      ),
    );
};

const rotate = (secrets: Command, terminal: Terminal): void => {
  listing(recording(secrets.command('rotate-pepper')))
    .description('Make a new pepper for every key from now on; the old one stays accepted')
    .action((options: Output, called: Command) => changed(terminal, rotatePepper, afterRotation, options, called));
};

const drop = (secrets: Command, terminal: Terminal): void => {
  listing(recording(secrets.command('drop-pepper')))
    .description('End the previous pepper, and with it every key that was made under it')
    .option('--yes', 'do not ask')
    .action(async (options: Output & { yes?: true }, called: Command) => {
      await asOperator(terminal, async ({ rows, secrets: known }) => {
        const previous = known.peppers[1];
        if (previous === undefined) throw new Failure('There is no previous pepper.');
        const keys = livePerPepper(rows).get(pepperIdOf(previous)) ?? 0;
        await confirm(
          terminal,
          `${keys} live keys and clients were made under it. No gateway that starts from now on accepts them, ever again; those that run do until they are started anew.`,
          options.yes,
        );
      });
      await changed(terminal, dropPreviousPepper, afterDrop, options, called);
    });
};

const create = (secrets: Command, terminal: Terminal): void => {
  recording(secrets.command('create'))
    .description('Make new secrets where the previous ones are lost; older keys will not work')
    .option('--yes', 'do not ask')
    .action(async (options: { yes?: true }, called: Command) => {
      const config = readConfig(terminal.env);
      const dir = folderOf(config);
      if (hasSecrets(dir)) throw new Failure(`There are secrets in ${dir}.`);
      const costs = `No key that was made before will work, unless the lost secrets come back. ${newPartCosts}`;
      await confirm(terminal, costs, options.yes);
      const made = await atPathOf('SECRETS_DIR', dir, () => loadSecrets(dir));
      const { actor } = operatorContext(terminal, called);
      let key: Verifier | undefined;
      const hasEvents = mayHaveEvents(config);
      if (hasEvents) {
        const log = await anyEventLog(config);
        key = await acceptSecrets(log.store, systemClock, made, actor).finally(log.close);
      }
      terminal.out(`Made new secrets in ${dir}.\n${newPart(key)}`);
      if (hasEvents) terminal.err(nextKey);
    });
};

const accept = (secrets: Command, terminal: Terminal): void => {
  recording(secrets.command('accept'))
    .description('Accept the secrets in place for the event store, where the previous ones are lost')
    .option('--yes', 'do not ask')
    .action((options: { yes?: true }, called: Command) =>
      asOperator(terminal, async ({ store, secrets: given }) => {
        const costs = `Keys that were made with other secrets will not work with these. ${newPartCosts}`;
        await confirm(terminal, costs, options.yes);
        const key = await acceptSecrets(store, systemClock, given, operatorContext(terminal, called).actor);
        terminal.out(`From now on gateways start with these secrets alone.\n${newPart(key)}`);
      }),
    );
};

export const secretsCommand = (terminal: Terminal): Command => {
  const secrets = new Command('secrets').description('Look at the peppers, replace one, end the previous one');
  withExamples(secrets, examples);
  showPeppers(secrets, terminal);
  rotate(secrets, terminal);
  drop(secrets, terminal);
  create(secrets, terminal);
  accept(secrets, terminal);
  return secrets;
};
