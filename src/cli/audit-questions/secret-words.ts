import { secretsAtHand } from '../../app/secrets/config-secrets.ts';
import { type LostSecret, lostSecrets } from '../../app/secrets/lost-secrets.ts';
import type { StateAt } from '../../audit/history.ts';
import { readConfig } from '../../config/config.ts';
import type { EventStore } from '../../kernel/store/store.ts';
import { printable, type Terminal } from '../terminal.ts';
import { reasonOf, type When } from './words.ts';

export type LossOf = (found: StateAt) => LostSecret | undefined;

/** Whether the secret of a key or client was lost at a moment, by the log and the present secrets. */
export const lossesAt = async (terminal: Terminal, store: EventStore, at: number, now: number): Promise<LossOf> => {
  const lost = await lostSecrets(store, await secretsAtHand(readConfig(terminal.env)), now);
  return ({ state }) => {
    const { pepperId } = state.data as { readonly pepperId?: string };
    return pepperId === undefined ? undefined : lost(pepperId, at);
  };
};

export const effectiveOf = ({ isCertain }: LostSecret) => ({
  status: isCertain ? 'lost' : 'unknown',
  because: 'secret',
});

export const inWords = ({ event }: LostSecret): string =>
  event === null
    ? 'the pepper that it was made under is not at hand; since when is not recorded'
    : 'the pepper that it was made under was gone';

export const sinceOf = ({ event }: LostSecret, when: When): string | null => {
  if (event === null) return null;
  const reason = reasonOf(event.metadata.actor, {});
  const said = reason === null ? '' : ` (${printable(reason)})`;
  return `${when(event.metadata.at)}: ${event.type}${said}; a gateway that ran took it until it was started anew`;
};
