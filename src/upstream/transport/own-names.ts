import { type Edit, outerMembers } from '../../json/outer-members.ts';
import { Kind, type Tape } from '../../json/tape/tape.ts';
import type { Usage } from '../port.ts';

/** What an upstream's answer is to have instead of its own. */
export interface OwnNames {
  readonly id: string;
  readonly model: string;
}

/** An upstream's answer on its way: every byte is as it was but those of its id and model. */
export interface OwnDocument {
  readonly document: Buffer;
  readonly usage: Usage;
  /** UTF-8 bytes that the model wrote; 0 where nobody has to know, since the upstream counts tokens. */
  readonly outputBytes: number;
}

/** No count of a passing upstream is believed beyond it: far above what any request takes, far below what sums lose. */
export const mostPassedTokens = 1_000_000_000;

const [idName, modelName] = ['id', 'model'].map((name) => Buffer.from(name)) as [Buffer, Buffer];

/** What gives the object at an entry of the tape its own names, in order; null where it does not have both as strings. */
export const scannedNames = (tape: Tape, object: number, { id, model }: OwnNames): [Edit, Edit] | null => {
  const [one, other] = [scannedEdit(tape, object, idName, id), scannedEdit(tape, object, modelName, model)];
  if (one === null || other === null) return null;
  return one.start < other.start ? [one, other] : [other, one];
};

const scannedEdit = (tape: Tape, object: number, name: Buffer, value: string): Edit | null => {
  const entry = tape.member(object, name);
  if (entry === -1 || tape.kind(entry) !== Kind.string) return null;
  return { start: tape.start(entry) - 1, end: tape.end(entry) + 1, text: JSON.stringify(value) };
};

/**
 * The same of the object that begins at `start` of a document, for those of the two names that it has.
 */
export const parsedNames = (document: Buffer, start: number, own: OwnNames): Edit[] => {
  const members = outerMembers(document.subarray(start));
  const edits = (['id', 'model'] as const).flatMap((name): Edit[] => {
    const member = members.get(name);
    if (member === undefined) return [];
    return [{ start: start + member.valueStart, end: start + member.end, text: JSON.stringify(own[name]) }];
  });
  return edits.sort((one, other) => one.start - other.start);
};
