import { StoreCorrupt } from '../embedded/index.ts';
import { StoreDamaged, StreamDeleted } from '../kernel/store/store.ts';
import { Failure } from '../process/failure.ts';

/** Damage of the stored bytes, as opposed to an unreachable server or a wrong file name. */
const isDamage = (error: unknown): boolean =>
  (error instanceof StoreDamaged && !(error instanceof StreamDeleted)) ||
  error instanceof StoreCorrupt ||
  (error instanceof Failure && error.cause instanceof StoreCorrupt);

const names = 'weir store verify names';

/** Adds the command that lists the damage to the message of an error that is damage. */
export const withAdvice = (error: unknown, says: string): string =>
  isDamage(error) && !says.includes(names) ? `${says} ${names} what is damaged.` : says;
