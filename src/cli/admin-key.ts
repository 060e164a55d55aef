import { Command } from 'commander';
import { withExamples } from './examples.ts';
import { asOperator, operatorContext, recording } from './operator.ts';
import { findOrganization, makeAdminKey } from './org.ts';
import { confirm, show } from './output.ts';
import { printable, type Terminal } from './terminal.ts';

/** `weir admin-key bootstrap`: a way back in for who has lost every Admin key (contract C.3, break-glass). */
export const adminKeyCommand = (terminal: Terminal): Command => {
  const adminKey = new Command('admin-key').description('Make an Admin key without having one');
  withExamples(adminKey, '\nExample:\n  weir admin-key bootstrap org_01jd… --name "after the move"');
  recording(adminKey.command('bootstrap'))
    .description('Make an Admin key with every permission and print it once')
    .argument('<organization>', 'org_…')
    .option('--name <name>', 'what the key is called', 'Bootstrap key')
    .option('--yes', 'do not ask')
    .option('--json', 'one JSON object')
    .action((id: string, options: { name: string; yes?: true; json?: true }, command: Command) =>
      asOperator(
        terminal,
        async (operator) => {
          const { name } = findOrganization(operator, id);
          await confirm(terminal, `This makes a key that may do everything in “${printable(name)}”.`, options.yes);
          const key = await makeAdminKey(operator, operatorContext(terminal, command), id, options.name);
          show(terminal, [{ organization_id: id, admin_api_key_id: key.id, admin_api_key: key.value }], options);
        },
        { makesKeys: true },
      ),
    );
  return adminKey;
};
