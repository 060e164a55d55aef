import type { Config } from '../../config/config.ts';
import { BadConfig } from '../../config/config.ts';
import { atPathOf } from '../../config/file-fault.ts';
import { hasSecrets, loadSecrets, type Secrets, secretsFrom } from '../../secrets/master-secrets.ts';

/** The secrets of the environment, or of SECRETS_DIR. @throws BadConfig, also if there are events but no secrets */
export const secretsOf = async (config: Config, hasEvents: () => Promise<boolean>): Promise<Secrets> => {
  const { SECRETS_DIR, PEPPER, PREVIOUS_PEPPER, MASTER_KEY } = config;
  if (PEPPER && MASTER_KEY) {
    const previous = PREVIOUS_PEPPER?.reveal();
    return secretsFrom({ master_key: MASTER_KEY.reveal(), pepper: PEPPER.reveal(), previous_pepper: previous });
  }
  if (!hasSecrets(SECRETS_DIR) && (await hasEvents())) {
    throw new BadConfig([
      `SECRETS_DIR: ${SECRETS_DIR} holds no secrets, and without those that the keys were made with no key works; put them back, or if they are lost, run weir secrets create`,
    ]);
  }
  return atPathOf('SECRETS_DIR', SECRETS_DIR, () => loadSecrets(SECRETS_DIR));
};

export const secretsAtHand = async (config: Config): Promise<Secrets | undefined> => {
  const isHere = config.PEPPER !== undefined || hasSecrets(config.SECRETS_DIR);
  return isHere ? secretsOf(config, async () => true) : undefined;
};
