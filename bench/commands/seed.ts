import { hostname } from 'node:os';
import { Command, Option } from 'commander';
import { takeFirstRun } from '../../src/app/first-run.ts';
import { findStore } from '../../src/app/log/event-log.ts';
import { secretsOf } from '../../src/app/secrets/config-secrets.ts';
import { needsItsSecrets, proveSecrets } from '../../src/app/secrets/known-secrets.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Tier } from '../../src/domain/organization/tiers.ts';
import { openArchive } from '../../src/eventstoredb/archive.ts';
import { connect } from '../../src/eventstoredb/connect.ts';
import type { Actor } from '../../src/kernel/store/store.ts';
import { wholeBetween } from '../options.ts';
import type { Seeded } from '../seed/beside.ts';
import { KeyFile } from '../seed/key-file.ts';
import { mostKeys, type SeedTools, seed } from '../seed/organization.ts';
import type { Terminal } from '../terminal.ts';

interface SeedOptions {
  readonly organizations: number;
  readonly projects: number;
  readonly keys: number;
  readonly tier: number;
  readonly out: string;
  readonly name: string;
}

const examples = `
Examples:
  npm run bench -- seed --projects 10 --keys 1000 --tier 1 --out keys.ndjson
  npm run bench -- seed --projects 1000 --keys 1000000 --tier 5 --out keys.ndjson   a project holds 1,000 keys at most
  npm run bench -- seed --organizations 64 --projects 2 --keys 8 --out keys.ndjson  for a load above one's limits

DATA_DIR or EVENTSTORE_URL say where, as for the gateway, beside which it may run. Each line of the file is one key:
{"id":"key_…","project_id":"proj_…","value":"gwp_…"}. The file is made for this and readable by you alone; one that is
there already is never touched. What is interrupted stays as far as it has come: each key in the file works, and running
the command again makes another organization, into another file.`;

/** Small organizations are made side by side: each waits for the disk several times. */
const atOnce = 16;
const interruptedStatus = 130;

/** `npm run bench -- seed`: organizations to test a load with. */
export const seedCommand = (terminal: Terminal): Command => {
  const command = new Command('seed').description('Create organizations full of keys, for a load test');
  return command
    .addOption(
      new Option('--organizations <count>', 'how many of them, all alike')
        .argParser(wholeBetween(1, 100_000))
        .default(1),
    )
    .addOption(
      new Option('--projects <count>', 'how many projects each has')
        .argParser(wholeBetween(1, 100_000))
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--keys <count>', 'how many keys each has, spread evenly over its projects')
        .argParser(wholeBetween(1, 100_000_000))
        .makeOptionMandatory(),
    )
    .addOption(new Option('--tier <tier>', '0 (Free) to 5').argParser(wholeBetween(0, 5)).default(0))
    .requiredOption('--out <file>', 'where the keys go, one JSON object a line')
    .option('--name <name>', 'of the organization', 'Load test')
    .addHelpText('after', examples)
    .action(async (options: SeedOptions) => {
      const { projects, keys } = options;
      if (keys > mostKeys(projects))
        command.error(`With --projects ${projects} there are at most ${mostKeys(projects)} keys: a project has 1,000.`);
      await run(terminal, options);
    });
};

const run = async (terminal: Terminal, options: SeedOptions): Promise<void> => {
  // Where there is no store it makes one, and its secrets, for its owner alone.
  process.umask(0o077);
  const config = readConfig(process.env);
  const place = await findStore(config, undefined);
  const archive = openArchive(place.target);
  const store = connect(place.target);
  try {
    const secrets = await secretsOf(config, () => needsItsSecrets(store));
    await proveSecrets(store, systemClock, secrets);
    const host = hostname();
    const actor: Actor = { type: 'operator', id: 'bench', host, command: 'bench seed' };
    const begins = (id: string) => takeFirstRun(store, { host }, id);
    await fill(terminal, options, { archive, secrets, actor, begins });
  } finally {
    await store.close();
    await archive.close();
    await place.close();
  }
};

const fill = async (
  { out: print, say, exit, session }: Terminal,
  { organizations, projects, keys, name, out, tier }: SeedOptions,
  parts: Pick<SeedTools, 'archive' | 'secrets' | 'actor' | 'begins'>,
): Promise<void> => {
  const stop = session.interrupted;
  const total = organizations * keys;
  const file = await KeyFile.open(out);
  const tools = { ...parts, clock: systemClock, stop };
  const make = async (number: number): Promise<void> => {
    const began = performance.now();
    let count = 0;
    const called = organizations === 1 ? name : `${name} ${number}`;
    const plan = { name: called, projects, keys, tier: tier as Tier };
    const made = await seed(plan, {
      ...tools,
      made(key) {
        count += 1;
        if (file.lines % 1000 === 0) session.tell(`making ${total} keys`, file.lines / total);
        return file.add(key);
      },
    });
    const seconds = Math.max(0.001, (performance.now() - began) / 1000);
    const seeded: Seeded = {
      organization_id: made.organizationId,
      admin_api_key_id: made.adminKeyId,
      admin_api_key: made.adminValue,
      keys: count,
      seconds: Number(seconds.toFixed(1)),
      keys_per_second: Math.round(count / seconds),
    };
    print(`${JSON.stringify(seeded)}\n`);
  };
  let number = 0;
  const lane = async (): Promise<void> => {
    while (number < organizations && !stop.aborted) await make(++number);
  };
  try {
    await Promise.all(Array.from({ length: Math.min(atOnce, organizations) }, lane));
  } finally {
    await file.close();
  }
  if (file.lines < total) {
    say(`Stopped at ${file.lines} of ${total} keys. They work, and are in ${out}.`);
    exit(interruptedStatus);
  }
};
