import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { Command, InvalidArgumentError } from 'commander';
import { secretsOf } from '../app/config-secrets.ts';
import { findStore } from '../app/event-log.ts';
import { fileFault } from '../app/file-fault.ts';
import { needsItsSecrets, proveSecrets } from '../app/known-secrets.ts';
import { systemClock } from '../clock.ts';
import { readConfig } from '../config.ts';
import type { Tier } from '../domain/tiers.ts';
import { openArchive } from '../eventstoredb/archive.ts';
import { connect } from '../eventstoredb/connect.ts';
import type { Actor } from '../kernel/store.ts';
import { withExamples } from './examples.ts';
import { operatorContext, recording } from './operator.ts';
import { type Shown, show } from './output.ts';
import { progressBar } from './progress.ts';
import { mostKeys, type SeededKey, type SeedTools, seed } from './seed.ts';
import { Failure, type Terminal, UsageError } from './terminal.ts';

interface Options {
  readonly organizations: number;
  readonly projects: number;
  readonly keys: number;
  readonly tier: number;
  readonly out: string;
  readonly name: string;
  readonly json?: true;
}

const examples = `
Examples:
  weir org seed --projects 10 --keys 1000 --tier 1 --out keys.ndjson
  weir org seed --projects 1000 --keys 1000000 --tier 5 --out keys.ndjson     a project holds 1,000 keys at most
  weir org seed --organizations 64 --projects 2 --keys 8 --out keys.ndjson    for a load above one organization's limits

Each line of the file is one key: {"id":"key_…","project_id":"proj_…","value":"gwp_…"}. The file is made for this and
readable by you alone; one that is there already is never touched. What is interrupted stays as far as it has come: each
key in the file works, and running the command again makes another organization, into another file.`;

const whole = (least: number, most: number) => (text: string) => {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new InvalidArgumentError(`Give a whole number from ${least} to ${most}.`);
};

/** Bytes of lines gathered before they are written. */
const chunk = 64 * 1024;

/** Small organizations are made side by side: each waits for the disk several times. */
const atOnce = 16;

/** The file of keys: whole lines, as they come. */
class KeyFile {
  lines = 0;
  readonly #stream: WriteStream;
  #text = '';

  constructor(stream: WriteStream) {
    this.#stream = stream;
  }

  /** Made for its reader alone. @throws Failure where there is something by this name */
  static async open(path: string): Promise<KeyFile> {
    const stream = createWriteStream(path, { flags: 'wx', mode: 0o600 });
    try {
      await once(stream, 'open');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const sentence =
        code === 'EEXIST'
          ? 'is there already. Keys that were made once are not made again: name another file.'
          : `cannot be written: ${code === 'ENOENT' ? 'its folder is not there' : fileFault(error)}.`;
      throw new Failure(`${path} ${sentence}`, 1, error);
    }
    return new KeyFile(stream);
  }

  add(key: SeededKey): Promise<void> | undefined {
    this.lines += 1;
    this.#text += `${JSON.stringify(key)}\n`;
    return this.#text.length >= chunk ? this.#flush() : undefined;
  }

  async #flush(): Promise<void> {
    const text = this.#text;
    this.#text = '';
    if (!this.#stream.write(text)) await once(this.#stream, 'drain');
  }

  async close(): Promise<void> {
    this.#stream.end(this.#text);
    this.#text = '';
    await finished(this.#stream);
  }
}

/** `weir org seed`: organizations to test a load with. */
export const seedCommand = (terminal: Terminal): Command => {
  const command = recording(new Command('seed'))
    .description('Create organizations full of keys, for a load test')
    .option('--organizations <count>', 'how many of them, all alike', whole(1, 100_000), 1)
    .requiredOption('--projects <count>', 'how many projects each has', whole(1, 100_000))
    .requiredOption('--keys <count>', 'how many keys each has, spread evenly over its projects', whole(1, 100_000_000))
    .option('--tier <tier>', '0 to 5', whole(0, 5), 0)
    .requiredOption('--out <file>', 'where the keys go, one JSON object a line')
    .option('--name <name>', 'of the organization', 'Load test')
    .option('--json', 'one JSON object an organization')
    .action((options: Options, called: Command) => run(terminal, options, operatorContext(terminal, called).actor));
  return withExamples(command, examples);
};

const run = async (terminal: Terminal, options: Options, actor: Actor): Promise<void> => {
  const { projects, keys } = options;
  if (keys > mostKeys(projects)) {
    throw new UsageError(`${projects} projects hold ${mostKeys(projects)} keys at most: a project has 1,000.`);
  }
  const config = readConfig(terminal.env);
  const place = await findStore(config, undefined);
  const archive = openArchive(place.target);
  const store = connect(place.target);
  try {
    const secrets = await secretsOf(config, () => needsItsSecrets(store));
    await proveSecrets(store, systemClock, secrets);
    await fill(terminal, options, { archive, secrets, actor });
  } finally {
    await store.close();
    await archive.close();
    await place.close();
  }
};

const fill = async (
  terminal: Terminal,
  options: Options,
  parts: Pick<SeedTools, 'archive' | 'secrets' | 'actor'>,
): Promise<void> => {
  const { organizations, projects, keys, name, out } = options;
  const total = organizations * keys;
  const file = await KeyFile.open(out);
  const stopping = new AbortController();
  void terminal.interrupted().then(() => stopping.abort());
  const progress = progressBar(terminal, `Making ${total} keys`);
  const tools = {
    ...parts,
    clock: systemClock,
    stop: stopping.signal,
  };
  const rows: Shown[] = [];
  try {
    const make = async (number: number): Promise<void> => {
      const began = performance.now();
      let count = 0;
      const called = organizations === 1 ? name : `${name} ${number}`;
      const made = await seed(
        { name: called, projects, keys, tier: options.tier as Tier },
        {
          ...tools,
          made(key) {
            count += 1;
            if (file.lines % 1000 === 0) progress.at(file.lines / total);
            return file.add(key);
          },
        },
      );
      const seconds = Math.max(0.001, (performance.now() - began) / 1000);
      rows.push({
        organization_id: made.organizationId,
        admin_api_key_id: made.adminKeyId,
        admin_api_key: made.adminValue,
        keys: count,
        seconds: Number(seconds.toFixed(1)),
        keys_per_second: Math.round(count / seconds),
      });
    };
    let number = 0;
    const lane = async (): Promise<void> => {
      while (number < organizations && !stopping.signal.aborted) await make(++number);
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, organizations) }, lane));
  } finally {
    progress.done();
    await file.close();
  }
  show(terminal, rows, options);
  if (file.lines < total) {
    throw new Failure(`Stopped at ${file.lines} of ${total} keys. They work, and are in ${out}.`, 130);
  }
};
