import { type Document, Kind } from '../../json/document.ts';
import { type Fields, within } from '../upstream/transport/fields.ts';

/** After each of its tools an upstream asks its model again, and counts all (contract M.2). No bound is named. */
export const mostTurns = 100;

const own = ['function', 'custom'];
const ownBytes = own.map((tag) => Buffer.from(tag));
const type = Buffer.from('type');

export const isClients = (tag: unknown): boolean => tag == null || own.includes(tag as string);

export const isClientsOnTape = (tape: Document, tool: number): boolean => {
  const tag = tape.member(tool, type);
  if (tag === -1 || tape.kind(tag) === Kind.null) return true;
  return tape.kind(tag) === Kind.string && ownBytes.some((each) => tape.spells(tag, each));
};

/** Items of responses can bring tools. */
export const toolsIn = ({ tools, input }: Readonly<Record<string, unknown>>): Fields[] => {
  const brought = Array.isArray(input) ? input.map((item) => within(item).tools) : [];
  return [tools, ...brought].flatMap((each) => (Array.isArray(each) ? each.map(within) : []));
};

/** @param others further reasons for several turns */
export const turnsOf = (
  tools: readonly Readonly<Record<string, unknown>>[] | null | undefined,
  ...others: readonly unknown[]
): number => {
  const isServed = tools?.some(({ type: tag }) => !isClients(tag)) === true;
  return isServed || others.some((other) => other != null) ? mostTurns : 1;
};

export const turnsOnTape = (tape: Document, tools: number, ...others: readonly Buffer[]): number => {
  for (const other of others) {
    const entry = tape.member(0, other);
    if (entry !== -1 && tape.kind(entry) !== Kind.null) return mostTurns;
  }
  if (tools === -1 || tape.kind(tools) !== Kind.array) return 1;
  for (let at = tools + 1; at < tape.next(tools); at = tape.next(at)) {
    if (!isClientsOnTape(tape, at)) return mostTurns;
  }
  return 1;
};
