import type { Millis } from '../../../clock.ts';
import { parsedCheckpoint, type SignedCheckpoint } from '../../../merkle/checkpoint.ts';
import { isSignedWith, signatureOf, withSignatures } from '../../../merkle/note.ts';
import { consistencyProof, type HashSource } from '../../../merkle/tree.ts';
import { beginningOf, post } from './post.ts';
import type { WitnessAddress } from './sink-address.ts';

class WitnessRefused extends Error {
  override readonly name = 'WitnessRefused';
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/**
 * A witness (c2sp.org/tlog-witness) requires a consistency proof from the last size that it has signed, and answers
 * 409 with that size if ours is wrong.
 */
export const askWitness = (
  { url, verifier }: WitnessAddress,
  leaves: () => HashSource,
  answerMs: Millis,
): ((checkpoint: SignedCheckpoint) => Promise<SignedCheckpoint>) => {
  let known = 0;
  const ask = (checkpoint: SignedCheckpoint): Promise<Answer> => {
    const proof = consistencyProof(leaves(), known, checkpoint.size).map((hash) => `${hash.toString('base64')}\n`);
    const body = `old ${known}\n${proof.join('')}\n${checkpoint.signed}`;
    return post(`${url}/add-checkpoint`, body, answerMs, async (answer) => ({
      status: answer.status,
      text: await beginningOf(answer),
    }));
  };
  return async (checkpoint) => {
    let answer = await ask(checkpoint);
    if (answer.status === 409) {
      const said = /^(0|[1-9]\d{0,14})\n?$/.exec(answer.text)?.[1];
      if (said === undefined) throw new WitnessRefused('it has signed another tree, and does not say of what size');
      const size = Number(said);
      // It has seen more leaves than this log has, or other leaves.
      if (size > checkpoint.size || size === known) {
        throw new WitnessRefused(`it has signed another tree, of ${size} leaves`);
      }
      known = size;
      answer = await ask(checkpoint);
    }
    if (answer.status !== 200) throw new WitnessRefused(`it answered ${answer.status}`);
    const signatures = answer.text.split('\n').flatMap((line) => signatureOf(line) ?? []);
    const { note } = checkpoint;
    const own = signatures.filter((signature) => isSignedWith({ text: note.text, signatures: [signature] }, verifier));
    if (own.length === 0) throw new WitnessRefused('its signature is not its own');
    known = checkpoint.size;
    return parsedCheckpoint(
      withSignatures({ text: note.text, signatures: [...note.signatures, ...own] }),
    ) as SignedCheckpoint;
  };
};
