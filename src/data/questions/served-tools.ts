import type { Document } from '../../json/document.ts';
import { named } from '../../json/names.ts';

/** After each of its tools an upstream asks its model again, and counts all (contract M.2). No bound is named. */
export const mostTurns = 100;

const { type, function: called, custom } = named('type', 'function', 'custom');

/** Whether the caller runs a tool. */
export const isClients = (tape: Document, tool: number): boolean => {
  const tag = tape.member(tool, type);
  return !tape.isGiven(tag) || tape.says(tag, called) || tape.says(tag, custom);
};
