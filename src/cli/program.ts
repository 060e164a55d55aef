import { Command, CommanderError, Help } from 'commander';
import { BadConfig, describeConfig } from '../config/config.ts';
import { inWords } from '../config/file-fault.ts';
import { UnusableTarget } from '../eventstoredb/client/target.ts';
import { Failure } from '../process/failure.ts';
import { version } from '../version.ts';
import { withAdvice } from './about-damage.ts';
import { auditCommand } from './audit.ts';
import { completionCommand } from './completion/completion.ts';
import { shareExamples } from './examples.ts';
import { inColumns } from './help-text.ts';
import { adminKeyCommand } from './org/admin-key.ts';
import { oauthClientCommand } from './org/oauth-client.ts';
import { orgCommand } from './org/org.ts';
import { keyCommand } from './resources/key.ts';
import { limitsCommand } from './resources/limits-command.ts';
import { modelCommand } from './resources/model.ts';
import { policyCommand } from './resources/policy.ts';
import { projectCommand } from './resources/project.ts';
import { secretsCommand } from './secrets/secrets.ts';
import { serveCommand } from './serve-command.ts';
import { statusCommand } from './status/status.ts';
import { eventsCommand } from './store/events.ts';
import { eventstoreCommand } from './store/eventstore-command.ts';
import { storeCommand } from './store/store-command.ts';
import { printableLines, type Terminal, usageError } from './terminal.ts';
import { billingCommand } from './usage/billing.ts';
import { spendCommand } from './usage/spend-command.ts';
import { usageCommand } from './usage/usage.ts';

const statuses = `
Exit status: 0 done; 1 it could not be done, and why is said; 64 the command line is wrong; 78 the configuration is wrong.
What status, usage reconcile and audit verify end with, their own help says.
`;

/** Runs a `weir` command. @returns its exit status */
export const program = async (terminal: Terminal): Promise<number> => {
  const weir = new Command('weir')
    .description('An event-sourced gateway for hosted language models.')
    .version(version)
    .exitOverride()
    // Errors repeat what was typed.
    .configureOutput({
      writeOut: terminal.out,
      writeErr: (text) => terminal.err(printableLines(text)),
      getOutHelpWidth: () => terminal.columns,
      getErrHelpWidth: () => terminal.columns,
    })
    .addHelpText(
      'after',
      () => `${inColumns(statuses, terminal.columns)}\nEnvironment:\n${variables(terminal.columns)}`,
    )
    .configureHelp({ minWidthToWrap: 20 });
  // Options after a subcommand's name belong to it, even if its group has them, too.
  weir.enablePositionalOptions();
  weir.addCommand(serveCommand(terminal));
  weir.addCommand(statusCommand(terminal));
  weir.addCommand(eventsCommand(terminal));
  weir.addCommand(auditCommand(terminal));
  weir.addCommand(eventstoreCommand(terminal));
  weir.addCommand(storeCommand(terminal));
  weir.addCommand(orgCommand(terminal));
  weir.addCommand(projectCommand(terminal));
  weir.addCommand(keyCommand(terminal));
  weir.addCommand(policyCommand(terminal));
  weir.addCommand(billingCommand(terminal));
  weir.addCommand(adminKeyCommand(terminal));
  weir.addCommand(oauthClientCommand(terminal));
  weir.addCommand(secretsCommand(terminal));
  weir.addCommand(modelCommand(terminal));
  weir.addCommand(limitsCommand(terminal));
  weir.addCommand(usageCommand(terminal));
  weir.addCommand(spendCommand(terminal));
  weir.addCommand(completionCommand(terminal, weir));
  shareExamples(weir, 'weir');
  weir.showHelpAfterError('weir --help lists the commands.');
  inheritEverywhere(weir);
  try {
    const [first, name] = terminal.argv;
    if (first === 'help' && name !== undefined && !weir.commands.some((each) => each.name() === name))
      weir.error(`error: unknown command '${name}'`);
    await weir.parseAsync([...terminal.argv], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageError;
    if (error instanceof BadConfig || error instanceof UnusableTarget) return complain(terminal, error.message, 78);
    const message = error instanceof Error ? inWords(error) : String(error);
    const code = error instanceof Failure ? error.exitCode : 1;
    return complain(terminal, withAdvice(error, message), code);
  }
};

const variables = (columns: number): string => {
  const help = new Help();
  help.minWidthToWrap = 20;
  help.prepareContext({ helpWidth: columns });
  const all = Array.from(
    describeConfig().matchAll(/^ {2}(\S+) +(.*)$/gm),
    ([, name = '', what = '']) => [name, what] as const,
  );
  const width = Math.max(...all.map(([name]) => name.length));
  return all.map(([name, what]) => help.formatItem(name, width, what, help)).join('\n');
};

/** Commander does not inherit these settings in commands that were added before. */
const inheritEverywhere = (parent: Command, path = 'weir'): void => {
  for (const command of parent.commands) {
    const name = `${path} ${command.name()}`;
    command.copyInheritedSettings(parent).exitOverride().showHelpAfterError(`${name} --help says how it is used.`);
    inheritEverywhere(command, name);
  }
};

const complain = (terminal: Terminal, message: string, code: number): number => {
  if (message !== '') terminal.err(`${printableLines(message)}\n`);
  return code;
};
