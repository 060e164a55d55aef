import { Failure } from '../process/failure.ts';
import { printable, type Terminal, UsageError } from './terminal.ts';

/** Asks for confirmation. @throws Failure if refused, or without a terminal and the option */
export const confirm = async (
  terminal: Terminal,
  question: string,
  yes: boolean | undefined,
  option = '--yes',
): Promise<void> => {
  if (yes) return;
  if (!terminal.ask) throw new Failure(`${question} Say ${option} to go ahead.`);
  const answer = await terminal.ask(`${question} Type "yes" to go ahead: `);
  if (answer.trim().toLowerCase() !== 'yes') throw new Failure('Nothing was changed.');
};

/** Micro-dollars as dollars, with two to six decimals. */
export const dollars = (micros: number): string => {
  const all = Math.abs(micros);
  const part = String(all % 1_000_000).padStart(6, '0');
  return `${micros < 0 ? '-' : ''}$${Math.floor(all / 1_000_000)}.${part.replace(/0{1,4}$/, '')}`;
};

const amount = /^\d{1,9}(\.\d{1,6})?$/;

/** Parses dollars into micro-dollars. @throws UsageError */
export const microsOf = (text: string): number => {
  if (!amount.test(text))
    throw new UsageError(`${printable(text)} is not an amount: give dollars such as 20 or 19.99.`);
  const [whole = '0', part = ''] = text.split('.');
  return Number(whole) * 1_000_000 + Number(part.padEnd(6, '0'));
};
