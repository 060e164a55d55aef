import { Command } from 'commander';
import { checkpointOf } from '../../audit/log/checkpoint-event.ts';
import { rotateKey } from '../../audit/log/keys.ts';
import { checkpointStream } from '../../audit/log/leaf.ts';
import { newestSigned } from '../../audit/log/proof.ts';
import { systemClock } from '../../clock.ts';
import { Failure } from '../../process/failure.ts';
import { onLog, operatorContext, recording } from '../operator.ts';
import { confirm } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { logKeys, noCheckpoint, ownSigners } from './audit-source.ts';

export const keyCommand = (terminal: Terminal): Command =>
  new Command('key')
    .description('Print the log’s public keys, the first one first: keep them where the store’s operator cannot write')
    .action(() =>
      onLog(terminal, async ({ store }, config) => {
        const { believed } = await logKeys(terminal, config, store);
        if (believed.length === 0) throw new Failure('This log has no key yet: a gateway makes it when it starts.');
        terminal.out(believed.map(({ verifier }) => `${verifier.text}\n`).join(''));
      }),
    );

const rotationCosts =
  'Checkpoints are signed with a new key from now on, for good. Whoever knows the first key believes it in a whole log; whoever verifies exports of an organization has to be given it.';
const afterRotation =
  'Add this key to what weir audit key has printed before: exports of an organization are verified with all keys of the log.\n';

/** `weir audit rotate-key`. Standard output has only the key. */
export const rotateKeyCommand = (terminal: Terminal): Command =>
  recording(new Command('rotate-key'))
    .description('Sign with another key from now on; the present one vouches for it')
    .option('--yes', 'do not ask')
    .action((options: { yes?: true }, called: Command) =>
      onLog(terminal, async ({ store }, config) => {
        const signers = await ownSigners(config, store);
        if (!signers)
          throw new Failure('The key is made of the secrets, which are not here: SECRETS_DIR says where they are.');
        await confirm(terminal, rotationCosts, options.yes);
        const next = await rotateKey(store, signers, systemClock, operatorContext(terminal, called).actor);
        if (!next)
          throw new Failure('The secrets have made no key of this log, so nobody could vouch: weir secrets accept.');
        terminal.out(`${next.text}\n`);
        terminal.err(afterRotation);
      }),
    );

export const checkpointCommand = (terminal: Terminal): Command =>
  new Command('checkpoint').description('Print the newest signed checkpoint').action(() =>
    onLog(terminal, async ({ store }, config) => {
      const checkpoints = newestSigned(await logKeys(terminal, config, store));
      for await (const event of store.read(checkpointStream)) {
        const said = checkpointOf(event);
        if (said) checkpoints.add(said.checkpoint);
      }
      const newest = checkpoints.found;
      if (newest === undefined) throw new Failure(noCheckpoint);
      terminal.out(newest.signed);
    }),
  );
