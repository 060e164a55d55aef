import { Argument, Command } from 'commander';
import { withExamples } from '../examples.ts';
import type { Terminal } from '../terminal.ts';
import { placesOf } from './command-tree.ts';
import { completionScripts } from './completion-scripts.ts';

const examples = `
Examples:
  weir completion bash > /etc/bash_completion.d/weir
  weir completion zsh > "\${fpath[1]}/_weir"
  weir completion fish > ~/.config/fish/completions/weir.fish
  source <(weir completion bash)       for this shell alone`;

type Shell = keyof typeof completionScripts;

/**
 * `weir completion`: a script that completes commands and options, made of what this `weir` knows. The shell needs no
 * `weir` for it: a process for each press of the key would take half a second.
 */
export const completionCommand = (terminal: Terminal, weir: Command): Command => {
  const completion = new Command('completion').description('Print a script that completes command lines in a shell');
  completion
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(completionScripts)))
    .action((shell: Shell) => terminal.out(completionScripts[shell](placesOf(weir))));
  return withExamples(completion, examples);
};
