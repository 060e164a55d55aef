import { Command } from 'commander';
import { checkpointOf } from '../../audit/log/checkpoint-event.ts';
import { exportLines } from '../../audit/log/export.ts';
import { checkpointStream } from '../../audit/log/leaf.ts';
import { entriesOf } from '../../audit/log/organization-entries.ts';
import { leafList } from '../../audit/log/proof.ts';
import type { Config } from '../../config/config.ts';
import { whose } from '../../domain/streams.ts';
import type { EventStore, Recorded } from '../../kernel/store/store.ts';
import type { SignedCheckpoint } from '../../merkle/checkpoint.ts';
import { Failure } from '../../process/failure.ts';
import { writeNewFile } from '../new-file.ts';
import { onLog } from '../operator.ts';
import { printable, type Terminal, UsageError } from '../terminal.ts';
import { allEvents, logKeys, noCheckpoint } from './audit-source.ts';

interface Options {
  readonly out: string;
  readonly organization?: string;
}

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
        const events = await writeNewFile(options.out, (write) =>
          writeAll(terminal, config, store, organization, write),
        );
        terminal.out(`${options.out} holds ${events} events, each with its proof.\n`);
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
  write: (text: string) => Promise<void>,
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
  let last = '';
  for await (const line of exportLines(source)) {
    last = line;
    await write(line);
  }
  const { events: count } = JSON.parse(last) as { readonly events: number };
  if (count === 0)
    throw new Failure(isWhole ? 'No checkpoint covers anything.' : `No checkpoint covers anything of ${organization}.`);
  return count;
};
