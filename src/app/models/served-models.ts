import { readFile } from 'node:fs/promises';
import { BadConfig, type Config } from '../../config/config.ts';
import { atPathOf } from '../../config/file-fault.ts';
import { type DeclaredModel, loadModels } from '../../data/upstream/models/models.ts';

/** The models of MODELS_FILE, or the built-in ones. @throws BadConfig */
export const servedModels = async (config: Config, env: NodeJS.ProcessEnv): Promise<readonly DeclaredModel[]> => {
  const { MODELS_FILE: file } = config;
  const text = file === undefined ? null : await atPathOf('MODELS_FILE', file, () => readFile(file, 'utf8'));
  try {
    return loadModels(text, env);
  } catch (error) {
    throw new BadConfig([`MODELS_FILE: ${(error as Error).message}`], error);
  }
};
