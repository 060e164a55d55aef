import type { Millis } from '../../clock.ts';
import { parsedCheckpoint, type SignedCheckpoint } from '../../merkle/checkpoint.ts';
import { isSignedWith, signatureOf, withSignatures } from '../../merkle/note.ts';
import { consistencyProof, type HashSource } from '../../merkle/tree.ts';
import type { WitnessAddress } from './sink-address.ts';

/** The witness has signed something else, or a tree that is not this one. */
class WitnessRefused extends Error {
  override readonly name = 'WitnessRefused';
}

/**
 * Has a witness sign checkpoints. It remembers the last one that it has signed, and wants a proof that the next continues it;
 * where it has signed another than we believe, it says which.
 */
export const askWitness = (
  { url, verifier }: WitnessAddress,
  leaves: () => HashSource,
  answerMs: Millis,
): ((checkpoint: SignedCheckpoint) => Promise<SignedCheckpoint>) => {
  let known = 0;
  const post = (checkpoint: SignedCheckpoint): Promise<Response> => {
    const proof = consistencyProof(leaves(), known, checkpoint.size).map((hash) => `${hash.toString('base64')}\n`);
    return fetch(`${url}/add-checkpoint`, {
      method: 'POST',
      body: `old ${known}\n${proof.join('')}\n${checkpoint.signed}`,
      redirect: 'error',
      signal: AbortSignal.timeout(answerMs),
    });
  };
  return async (checkpoint) => {
    let answer = await post(checkpoint);
    if (answer.status === 409) {
      const size = Number.parseInt(await answer.text(), 10);
      // It has seen a later one, so the log in front of us was shortened; or another of the same size.
      if (!Number.isSafeInteger(size) || size > checkpoint.size || size === known) {
        throw new WitnessRefused(`it has signed another tree, of ${size} leaves`);
      }
      known = size;
      answer = await post(checkpoint);
    }
    const text = await answer.text();
    if (!answer.ok) throw new WitnessRefused(`it answered ${answer.status}`);
    const signatures = text.split('\n').flatMap((line) => signatureOf(line) ?? []);
    const { note } = checkpoint;
    const own = signatures.filter((signature) => isSignedWith({ text: note.text, signatures: [signature] }, verifier));
    if (own.length === 0) throw new WitnessRefused('its signature is not its own');
    known = checkpoint.size;
    return parsedCheckpoint(
      withSignatures({ text: note.text, signatures: [...note.signatures, ...own] }),
    ) as SignedCheckpoint;
  };
};
