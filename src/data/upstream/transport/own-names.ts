import { type Document, Kind, lentDocument } from '../../../json/document.ts';
import type { Edit } from '../../../json/edits.ts';
import type { Usage } from '../../../tokens.ts';

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
export const scannedNames = (tape: Document, object: number, { id, model }: OwnNames): [Edit, Edit] | null => {
  const [one, other] = [scannedEdit(tape, object, idName, id), scannedEdit(tape, object, modelName, model)];
  if (one === null || other === null) return null;
  return one.start < other.start ? [one, other] : [other, one];
};

const scannedEdit = (tape: Document, object: number, name: Buffer, value: string): Edit | null => {
  const entry = tape.member(object, name);
  if (entry === -1 || tape.kind(entry) !== Kind.string) return null;
  return tape.replaced(entry, JSON.stringify(value));
};

/** Replacements for those of the two names that a parsed document, or the object in its member `within`, has. */
export const parsedNames = (document: Buffer, own: OwnNames, within?: Buffer): Edit[] => {
  lentDocument.scanAny(document);
  const object = within === undefined ? 0 : lentDocument.member(0, within);
  const edits = [lentDocument.member(object, idName), lentDocument.member(object, modelName)].flatMap((entry, at) =>
    entry === -1 ? [] : [lentDocument.replaced(entry, JSON.stringify(at === 0 ? own.id : own.model))],
  );
  return edits.sort((one, other) => one.start - other.start);
};
