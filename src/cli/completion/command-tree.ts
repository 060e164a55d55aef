import type { Command, Option } from 'commander';

interface Word {
  readonly name: string;
  readonly description: string;
}

interface Flag extends Word {
  readonly takesValue: boolean;
}

/** What can be typed once the words of a command have been: its commands and its options. */
export interface CompletionPoint {
  /** ` org create`; empty for what comes first. */
  readonly path: string;
  /** Names of commands, or what its first argument can be. */
  readonly words: readonly Word[];
  readonly flags: readonly Flag[];
}

const flagsOf = ({ long, short, description, required, optional }: Option): Flag[] =>
  [long, short].flatMap((name) => (name ? [{ name, description, takesValue: required || optional }] : []));

/** Every place of a command line, those of the outer commands first. */
export const placesOf = (command: Command, path = ''): CompletionPoint[] => {
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
  return [here, ...inner.flatMap((each) => placesOf(each, `${path} ${each.name()}`))];
};
