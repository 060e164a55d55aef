import { type Note, parsedNote } from './note.ts';
import type { Hash } from './tree.ts';

/** c2sp.org/tlog-checkpoint */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Hash;
}

export interface SignedCheckpoint extends Checkpoint {
  readonly note: Note;
  readonly signed: string;
}

export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`;

const form = /^([^\n]+)\n(0|[1-9]\d{0,15})\n([A-Za-z0-9+/]{43}=)\n/;

/** Verifies no signature; undefined unless the text is a checkpoint. */
export const parsedCheckpoint = (signed: string): SignedCheckpoint | undefined => {
  const note = parsedNote(signed);
  const [, origin, size, root] = (note && form.exec(note.text)) ?? [];
  if (!note || origin === undefined || size === undefined || root === undefined) return undefined;
  return { origin, size: Number(size), root: Buffer.from(root, 'base64'), note, signed };
};

/** Three lines, an empty one, and signatures. An Ed25519 signature has 92 characters; a shorter one was cut off. */
const wholeNote =
  /^[^\u2014\n][^\n]*\n(?:0|[1-9]\d{0,15})\n[A-Za-z0-9+/]{43}=\n\n(?:\u2014 [^\s+]+ [A-Za-z0-9+/]{91,}={0,2}\n)+/gmu;

/** The notes of a file. @returns `rest`: anything else, such as part of a note after a failed write */
export const notesIn = (text: string): { readonly notes: readonly string[]; readonly rest: string } => ({
  notes: text.match(wholeNote) ?? [],
  rest: text.replace(wholeNote, '').trim(),
});

/** Start of the last note, which may continue in the next piece; 0 if there is none. */
const lastBegin = (text: string): number => {
  let end = text.lastIndexOf('\n\n\u2014');
  for (let line = 0; line < 3 && end > 0; line++) end = text.lastIndexOf('\n', end - 1);
  return end + 1;
};

/** For a file that is too long for one string: a sink may get a checkpoint a second for years. */
export function* notesInPieces(pieces: Iterable<string>): Generator<ReturnType<typeof notesIn>> {
  let left = '';
  for (const piece of pieces) {
    const text = left + piece;
    const at = lastBegin(text);
    yield notesIn(text.slice(0, at));
    left = text.slice(at);
  }
  yield notesIn(left);
}

/** c2sp.org/tlog-proof */
export const tlogProof = (index: number, proof: readonly Hash[], signed: string): string =>
  `c2sp.org/tlog-proof@v1\nindex ${index}\n${proof.map((each) => `${each.toString('base64')}\n`).join('')}\n${signed}`;
