import type { Command, Option } from 'commander';

interface Word {
  readonly name: string;
  readonly description: string;
}

interface Flag extends Word {
  readonly takesValue: boolean;
}

/** What can follow the words of a command. */
export interface CompletionPoint {
  /** ` org create`; empty at the start. */
  readonly path: string;
  /** Subcommands, or choices of the first argument. */
  readonly words: readonly Word[];
  readonly flags: readonly Flag[];
}

const flagsOf = ({ long, short, description, required, optional }: Option): Flag[] =>
  [long, short].flatMap((name) => (name ? [{ name, description, takesValue: required || optional }] : []));

export const completionPoints = (command: Command, path = ''): CompletionPoint[] => {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  const choices = command.registeredArguments[0]?.argChoices ?? [];
  const here: CompletionPoint = {
    path,
    words: [
      ...commands.map((inner) => ({ name: inner.name(), description: inner.description() })),
      ...choices.map((name) => ({ name, description: command.registeredArguments[0]?.description ?? '' })),
    ],
    flags: help.visibleOptions(command).flatMap(flagsOf),
  };
  const inner = command.commands.filter((each) => commands.includes(each));
  return [here, ...inner.flatMap((each) => completionPoints(each, `${path} ${each.name()}`))];
};
