import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { readConfig } from '../../config/config.ts';
import { type DeclaredModel, loadModels } from '../../data/upstream/models/models.ts';
import { fileFault } from '../../folder.ts';
import { Failure } from '../../process/failure.ts';
import { withExamples } from '../examples.ts';
import { listing, type Output, show } from '../table/listing.ts';
import type { Terminal } from '../terminal.ts';

/** The models of a models file, or the default ones. @throws Failure, or an Error that lists every fault of the file */
export const declaredModels = async (
  file: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<readonly DeclaredModel[]> => {
  const text =
    file === undefined
      ? null
      : await readFile(file, 'utf8').catch((cause: Error) => {
          throw new Failure(`The models file ${file} cannot be read: ${fileFault(cause) ?? cause.message}.`, 1, cause);
        });
  return loadModels(text, env);
};

export const modelCommand = (terminal: Terminal): Command => {
  const model = new Command('model').description('List the models, or check a models file');
  withExamples(model, '\nExamples:\n  weir model list\n  weir model check models.json');
  listing(model.command('list'))
    .description('The models that the gateway would serve')
    .action(async (options: Output) => {
      const declared = await declaredModels(readConfig(terminal.env).MODELS_FILE, terminal.env);
      const rows = declared.map(
        ({ model: { id, aliases, context_length, max_output_length, pricing }, upstreams }) => ({
          id,
          upstream: upstreams[0]!.upstream.kind,
          upstreams: upstreams.length,
          context_length,
          max_output_length,
          prompt: pricing.prompt,
          completion: pricing.completion,
          aliases,
        }),
      );
      show(terminal, rows, options, { id: 'id' });
    });
  model
    .command('check')
    .description('Check a models file and name every fault in it')
    .argument('[file]', 'default: MODELS_FILE')
    .action(async (file: string | undefined) => {
      const declared = await declaredModels(file ?? readConfig(terminal.env).MODELS_FILE, terminal.env);
      terminal.out(`${declared.length} models, no faults.\n`);
    });
  return model;
};
