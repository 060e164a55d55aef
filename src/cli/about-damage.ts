import { StoreCorrupt } from '../embedded/index.ts';
import { StoreDamaged, StreamDeleted } from '../kernel/store/store.ts';
import { Failure } from '../process/failure.ts';

/** Whether something is wrong with what the store holds, and not with its server, the way there or a file that was named. */
const isDamage = (error: unknown): boolean =>
  (error instanceof StoreDamaged && !(error instanceof StreamDeleted)) ||
  error instanceof StoreCorrupt ||
  (error instanceof Failure && error.cause instanceof StoreCorrupt);

const names = 'weir store verify names';

/** What is said of an error, with what names the damage where it is one and that is not said yet. */
export const withAdvice = (error: unknown, says: string): string =>
  isDamage(error) && !says.includes(names) ? `${says} ${names} what is damaged.` : says;
