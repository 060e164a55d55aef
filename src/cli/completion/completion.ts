import { Argument, Command } from 'commander';
import { withExamples } from '../examples.ts';
import { type Terminal, UsageError } from '../terminal.ts';
import { completionPoints } from './command-tree.ts';
import { completionScripts, type Shell } from './completion-scripts.ts';
import { installCompletion, shellOf } from './install.ts';

const examples = `
Examples:
  weir completion --install            for the shell of this user (SHELL), from the next one on
  weir completion zsh --install
  source <(weir completion bash)       for this shell alone
  weir completion bash > /etc/bash_completion.d/weir
                                       for everybody`;

const shells = Object.keys(completionScripts) as Shell[];

/** `weir completion`. The script is static: running `weir` for each key press would take half a second. */
export const completionCommand = (terminal: Terminal, weir: Command): Command => {
  const completion = new Command('completion').description(
    'Print or install a script that completes command lines in a shell',
  );
  completion
    .addArgument(new Argument('[shell]', 'the shell').choices(shells))
    .option('--install', 'put it where the shell finds it')
    .action(async (named: Shell | undefined, { install }: { install?: true }) => {
      if (!install && named === undefined)
        throw new UsageError(`Name a shell, ${shells.join(', ')}, or say --install.`);
      const shell = shellOf(named, terminal.env, shells);
      const script = completionScripts[shell](completionPoints(weir));
      terminal.out(install ? await installCompletion(shell, script, terminal.env) : script);
    });
  return withExamples(completion, examples);
};
