import { type Edit, outerMembers } from '../../json/outer-members.ts';
import { Kind, type Tape } from '../../json/tape/tape.ts';
import type { Usage } from '../../tokens.ts';

export interface OwnNames {
  readonly id: string;
  readonly model: string;
}

/** An answer with only id and model replaced. */
export interface OwnDocument {
  readonly document: Buffer;
  readonly usage: Usage;
  /** 0 if the upstream counts tokens. */
  readonly outputBytes: number;
}

/** Bounds reported counts: above any real request, below the precision of sums. */
export const mostPassedTokens = 1_000_000_000;

const [idName, modelName] = ['id', 'model'].map((name) => Buffer.from(name)) as [Buffer, Buffer];

/** Replacements for id and model; null unless both are strings. */
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

/** Replacements for those of the two names that the object at `start` has. */
export const parsedNames = (document: Buffer, start: number, own: OwnNames): Edit[] => {
  const members = outerMembers(document.subarray(start));
  const edits = (['id', 'model'] as const).flatMap((name): Edit[] => {
    const member = members.get(name);
    if (member === undefined) return [];
    return [{ start: start + member.valueStart, end: start + member.end, text: JSON.stringify(own[name]) }];
  });
  return edits.sort((one, other) => one.start - other.start);
};
