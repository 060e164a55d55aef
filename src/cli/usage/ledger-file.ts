import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { z } from 'zod';
import { fileFault } from '../../folder.ts';
import { Failure } from '../../process/failure.ts';
import type { LedgerLine } from '../../usage/reconcile.ts';
import { printable } from '../terminal.ts';

const count = z.coerce.number().int().min(0).optional();
/** Other fields are ignored. */
const line = z.object({
  request_id: z.string().min(1),
  input_tokens: count,
  output_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
});

const cellsOf = (text: string): string[] => text.split(',').map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'));

/** Empty cells are omitted. */
const record = (names: readonly string[], text: string): object =>
  Object.fromEntries(cellsOf(text).flatMap((cell, i) => (cell === '' ? [] : [[names[i] ?? '', cell]])));

/** An upstream's list of requests: NDJSON, or CSV with a header line. @throws Failure with the line of the fault */
export const readLedger = async (file: string): Promise<LedgerLine[]> => {
  const lines: LedgerLine[] = [];
  let names: readonly string[] | undefined;
  let number = 0;
  try {
    for await (const text of createInterface({ input: createReadStream(file) })) {
      number++;
      if (text.trim() === '') continue;
      const isJson = text.trimStart().startsWith('{');
      if (!isJson && names === undefined) {
        names = cellsOf(text);
        continue;
      }
      const parsed = line.safeParse(isJson ? JSON.parse(text) : record(names ?? [], text));
      const issue = parsed.error?.issues[0];
      if (!parsed.success) throw new SyntaxError(`${issue?.path.join('.')}: ${issue?.message}`);
      const counted = Object.entries(parsed.data).filter(([, value]) => value !== undefined);
      lines.push(Object.fromEntries(counted) as unknown as LedgerLine);
    }
  } catch (cause) {
    if (cause instanceof SyntaxError) {
      throw new Failure(
        `Line ${number} of ${printable(file)} is no line of a ledger: ${printable(cause.message)}.`,
        1,
        cause,
      );
    }
    throw new Failure(`The ledger ${printable(file)} cannot be read: ${fileFault(cause) ?? String(cause)}.`, 1, cause);
  }
  return lines;
};
