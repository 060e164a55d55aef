import { existsSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { Command } from 'commander';
import { checkpointOf } from '../../audit/log/checkpoint-event.ts';
import { exportLines } from '../../audit/log/export.ts';
import { checkpointStream } from '../../audit/log/leaf.ts';
import { entriesOf } from '../../audit/log/organization-entries.ts';
import { leafList } from '../../audit/log/proof.ts';
import type { Config } from '../../config/config.ts';
import { whose } from '../../domain/streams.ts';
import { fileFault } from '../../folder.ts';
import type { EventStore, Recorded } from '../../kernel/store/store.ts';
import type { SignedCheckpoint } from '../../merkle/checkpoint.ts';
import { Failure } from '../../process/failure.ts';
import { onLog } from '../operator.ts';
import { printable, type Terminal, UsageError } from '../terminal.ts';
import { allEvents, logKeys, noCheckpoint } from './audit-source.ts';

interface Options {
  readonly out: string;
  readonly organization?: string;
}

/** `weir audit export`. The file is renamed into place once it is complete and synced. */
export const exportCommand = (terminal: Terminal): Command =>
  new Command('export')
    .description('Write every event with the proof that a signed checkpoint covers it, to be verified without Weir')
    .requiredOption('--out <file>', 'the file; must not be there yet')
    .option('--organization <id>', 'the audit log of one organization (default: every event there is)')
    .action((options: Options) => {
      const { organization } = options;
      if (organization !== undefined && !organization.startsWith('org_'))
        throw new UsageError(`${printable(organization)} is not the id of an organization: org_….`);
      return onLog(terminal, async ({ store }, config) => {
        const draft = `${options.out}.partial`;
        if (existsSync(options.out)) throw new Failure(`${options.out} exists already.`);
        const file = await open(draft, 'w', 0o600).catch((error: unknown) => {
          throw new Failure(`${options.out} cannot be written: ${fileFault(error)}.`, 1, error);
        });
        try {
          const events = await writeAll(terminal, config, store, organization, file);
          await file.sync();
          await rename(draft, options.out);
          terminal.out(`${options.out} holds ${events} events, each with its proof.\n`);
        } finally {
          await file.close();
          await rm(draft, { force: true });
        }
      });
    });

/** Events up to a checkpoint: later ones are not covered by it. */
async function* oursUntil({ signed }: SignedCheckpoint, log: AsyncIterable<Recorded>): AsyncGenerator<Recorded> {
  for await (const event of log) {
    if (whose(event) !== 'ours') continue;
    if (event.stream !== checkpointStream) yield event;
    else if (checkpointOf(event)?.checkpoint.signed === signed) return;
  }
}

const writeAll = async (
  terminal: Terminal,
  config: Config,
  store: EventStore,
  organization: string | undefined,
  file: FileHandle,
): Promise<number> => {
  const keys = await logKeys(terminal, config, store);
  const leaves = await leafList(store.read(checkpointStream), keys);
  const { newest: checkpoint } = leaves;
  if (!checkpoint) throw new Failure(noCheckpoint);
  const events = oursUntil(checkpoint, allEvents(terminal, store, 'Exporting'));
  const isWhole = organization === undefined;
  const wanted = isWhole ? events : entriesOf(events, organization);
  const entries = (async function* () {
    for await (const event of wanted) yield { event };
  })();
  const source = {
    organizationId: organization ?? null,
    checkpoint,
    keys: keys.believed.map(({ verifier }) => verifier.text),
    leaves,
    indexOf: leaves.indexOf,
    entries,
    ...(isWhole && { stubs: leaves.stubs }),
  };
  let [last, chunk] = ['', ''];
  for await (const line of exportLines(source)) {
    last = line;
    chunk += line;
    if (chunk.length < chunkLength) continue;
    await file.write(chunk);
    chunk = '';
  }
  await file.write(chunk);
  const { events: count } = JSON.parse(last) as { readonly events: number };
  if (count === 0)
    throw new Failure(isWhole ? 'No checkpoint covers anything.' : `No checkpoint covers anything of ${organization}.`);
  return count;
};

const chunkLength = 256 * 1024;
