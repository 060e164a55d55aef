import { Command } from 'commander';
import { withExamples } from '../examples.ts';
import { asOperator, operatorContext, recording } from '../operator.ts';
import { confirm } from '../output.ts';
import { listing, type Output, showOne } from '../table/listing.ts';
import { printable, type Terminal } from '../terminal.ts';
import { findOrganization, madeKinds, makeAdminKey } from './org.ts';

/** `weir admin-key bootstrap` (contract B.4, break-glass). */
export const adminKeyCommand = (terminal: Terminal): Command => {
  const adminKey = new Command('admin-key').description('Make an Admin key without having one');
  withExamples(adminKey, '\nExample:\n  weir admin-key bootstrap org_01jd… --name "after the move"');
  listing(recording(adminKey.command('bootstrap')))
    .description('Make an Admin key with every permission and print it once')
    .argument('<organization>', 'org_…')
    .option('--name <name>', 'what the key is called', 'Bootstrap key')
    .option('--yes', 'do not ask')
    .action((id: string, options: Output & { name: string; yes?: true }, command: Command) =>
      asOperator(
        terminal,
        async (operator) => {
          const { name } = findOrganization(operator, id);
          await confirm(terminal, `This makes a key that may do everything in “${printable(name)}”.`, options.yes);
          const key = await makeAdminKey(operator, operatorContext(terminal, command), id, options.name);
          const made = { organization_id: id, admin_api_key_id: key.id, admin_api_key: key.value };
          showOne(terminal, made, options, madeKinds);
        },
        { makesKeys: true },
      ),
    );
  return adminKey;
};
