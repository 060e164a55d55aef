import { Kind, type Tape } from '../../json/tape/tape.ts';
import { type Fields, within } from '../../upstream/transport/fields.ts';

/**
 * Turns that an upstream may take for one answer where it runs tools: it asks its model again with what each of them has found, and
 * counts all of it (contract M.2). Providers name no bound; some allow ten at most before the client is asked.
 */
export const mostTurns = 100;

/** Tools that the client runs. */
const own = ['function', 'custom'];
const ownBytes = own.map((tag) => Buffer.from(tag));
const type = Buffer.from('type');

/** Whether the client runs a tool of this type. */
export const isClients = (tag: unknown): boolean => tag == null || own.includes(tag as string);

/** The same of a tool of a scanned request. */
export const isClientsOnTape = (tape: Tape, tool: number): boolean => {
  const tag = tape.member(tool, type);
  if (tag === -1 || tape.kind(tag) === Kind.null) return true;
  return tape.kind(tag) === Kind.string && ownBytes.some((each) => tape.spells(tag, each));
};

/** The tools of a request; items of responses may bring more of them. */
export const toolsIn = ({ tools, input }: Readonly<Record<string, unknown>>): Fields[] => {
  const brought = Array.isArray(input) ? input.map((item) => within(item).tools) : [];
  return [tools, ...brought].flatMap((each) => (Array.isArray(each) ? each.map(within) : []));
};

/** @param others what else may make the upstream go on by itself */
export const turnsOf = (
  tools: readonly Readonly<Record<string, unknown>>[] | null | undefined,
  ...others: readonly unknown[]
): number => {
  const isServed = tools?.some(({ type: tag }) => !isClients(tag)) === true;
  return isServed || others.some((other) => other != null) ? mostTurns : 1;
};

/** The same of a scanned request. @param tools -1 without any @param others members */
export const turnsOnTape = (tape: Tape, tools: number, ...others: readonly Buffer[]): number => {
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
