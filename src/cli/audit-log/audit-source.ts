import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { secretsAtHand } from '../../app/secrets/config-secrets.ts';
import type { KeyBelief, Keys } from '../../audit/log/key-belief.ts';
import { beliefOf, isOwn, keysIn, originOf, type Signers, signersOf } from '../../audit/log/keys.ts';
import { keyStream } from '../../audit/log/leaf.ts';
import type { Config } from '../../config/config.ts';
import { knownLogId } from '../../kernel/store/log-id.ts';
import type { EventStore, Recorded } from '../../kernel/store/store.ts';
import { notesInPieces, parsedCheckpoint, type SignedCheckpoint } from '../../merkle/checkpoint.ts';
import { type Verifier, verifierOf } from '../../merkle/note.ts';
import { Failure } from '../../process/failure.ts';
import { newestEvent } from '../operator.ts';
import { type Progress, progressBar } from '../progress.ts';
import { printable, type Terminal, UsageError } from '../terminal.ts';

/** Every event in the global order, the store's own included, with a progress bar. */
export async function* allEvents(terminal: Terminal, store: EventStore, what: string): AsyncGenerator<Recorded> {
  const end = Number((await newestEvent(store))?.position ?? 1);
  const progress: Progress = progressBar(terminal, what);
  let count = 0;
  try {
    const limit = Number.MAX_SAFE_INTEGER;
    for await (const event of store.readAll({ from: 'start', direction: 'forwards', limit, withOwn: true })) {
      count += 1;
      if (count % 1_000 === 0) progress.at(Math.min(1, Number(event.position) / end));
      yield event;
    }
  } finally {
    progress.done();
  }
}

/** The log's own keys; undefined without the master key. */
export const ownSigners = async (config: Config, store: EventStore): Promise<Signers | undefined> => {
  const logId = await knownLogId(store);
  const secrets = await secretsAtHand(config);
  if (!secrets || logId === undefined) return undefined;
  return signersOf(originOf(logId), secrets.masterKey);
};

/** Without the secrets, the first key of the log is trusted as it is. */
const firstAlone: KeyBelief = { isKnown: () => false, takesFirst: true };

/** The log's keys, checked with the secrets if there are any. Rejected keys are named on standard error. */
export const logKeys = async (terminal: Terminal, config: Config, store: EventStore): Promise<Keys> => {
  const signers = await ownSigners(config, store);
  const keys = await keysIn(store, signers ? beliefOf(signers) : firstAlone);
  for (const { revision } of keys.passedOver) terminal.err(passedOverKey({ stream: keyStream, revision }));
  return keys;
};

export const passedOverKey = ({ stream, revision }: { readonly stream: string; readonly revision: number }): string =>
  `${printable(`Nobody vouches for the key of revision ${revision} of ${stream}: it is passed over.`)}\n`;

export const noCheckpoint =
  'There is no checkpoint yet that a key of this log has signed: a gateway signs one within a second.';

/** Keys trusted from outside the log: the ones given, or else those made from the secrets. */
export const trustedKeys = async (config: Config, store: EventStore, named: readonly string[]): Promise<Verifier[]> => {
  if (named.length > 0) return named.flatMap(keysNamed);
  const signers = await ownSigners(config, store);
  if (!signers) return [];
  const own = (await keysIn(store, beliefOf(signers))).believed.filter(isOwn(signers));
  return own.length > 0 ? own.map(({ verifier }) => verifier) : [signers(1).verifier];
};

/** The verifier keys of a text, or of the file that it names, as `weir audit key` prints them. @throws UsageError */
const keysNamed = (text: string): Verifier[] => {
  const isFile = statSync(text, { throwIfNoEntry: false })?.isFile() === true;
  const words = (isFile ? [...piecesOf(text)].join('') : text).split(/\s+/).filter((word) => word !== '');
  const keys = words.map(verifierOf).filter((key) => key !== undefined);
  if (keys.length > 0 && keys.length === words.length) return keys;
  const what = isFile
    ? `The file ${printable(text)} holds something else than verifier keys`
    : `${JSON.stringify(text)} is neither a verifier key nor a file of them`;
  throw new UsageError(`${what}. weir audit key prints them: weir/<log>+<hash>+<key>.`);
};

/** The checkpoints in a file, of a sink or a single one. @throws Failure if there is none */
export const checkpointsIn = (path: string, passedOver: (says: string) => void): SignedCheckpoint[] => {
  if (!existsSync(path)) throw new Failure(`There is no file ${path}.`);
  const found: SignedCheckpoint[] = [];
  let lines = 0;
  for (const { notes, rest } of notesInPieces(piecesOf(path))) {
    for (const note of notes) {
      const checkpoint = parsedCheckpoint(note);
      if (checkpoint) found.push(checkpoint);
      else lines += 1;
    }
    if (rest !== '') lines += rest.split('\n').length;
  }
  if (found.length === 0) throw new Failure(`${path} holds no signed checkpoint.`);
  if (lines > 0)
    passedOver(
      `${path} holds ${lines} line${lines === 1 ? '' : 's'} that belong to no checkpoint, as a write that broke off leaves.`,
    );
  return found;
};

const pieceBytes = 16 * 1024 * 1024;

/** Reads a file's text in pieces. @throws Failure */
function* piecesOf(path: string): Generator<string> {
  const decoder = new TextDecoder();
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(pieceBytes);
      for (let read = readSync(file, bytes); read > 0; read = readSync(file, bytes))
        yield decoder.decode(bytes.subarray(0, read), { stream: true });
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw new Failure(`${path} cannot be read.`, 1, error);
  }
  yield decoder.decode();
}

/** Checkpoints from outside the log: of the given files, or else of the sinks that are files. `note` reports missing sinks. */
export const outsideCheckpoints = (
  config: Config,
  named: readonly string[],
  note: (says: string) => void,
): SignedCheckpoint[] => {
  if (named.length > 0) return named.flatMap((path) => checkpointsIn(path, note));
  return (config.AUDIT_SINKS ?? []).flatMap((sink) => {
    if (sink.kind !== 'file') return [];
    // An attacker who rewrites the log may have removed the file, too.
    if (!existsSync(sink.path) || statSync(sink.path).size === 0) {
      note(`${sink.path} is in AUDIT_SINKS, and there is nothing in it.`);
      return [];
    }
    return checkpointsIn(sink.path, note);
  });
};
