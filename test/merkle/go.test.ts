// Lane: rest: it asks a verifier in Go
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { leafList, proofOf } from '../../src/audit/log/proof.ts';
import { canonicalEvent } from '../../src/kernel/store/event-hash.ts';
import { consistencyProof } from '../../src/merkle/tree.ts';
import { signers } from '../audit/log/scene.ts';
import { keysOf, leavesIn, notesOf, randomOf, signedLog } from '../audit/log/signed-log.ts';

const folder = fileURLToPath(new URL('go/', import.meta.url));
const go = (args: readonly string[], input = '') =>
  spawnSync('go', args, { cwd: folder, input, encoding: 'utf8', timeout: 240_000, maxBuffer: 2 ** 26 });

/** Without Go, or where its modules cannot be had, there is nobody to ask. */
const isThere = go(['mod', 'download']).status === 0;

const flipped = (text: string): string => `${text[0] === 'A' ? 'B' : 'A'}${text.slice(1)}`;

test.skipIf(!isThere)(
  'the Go modules that others verify logs with accept our checkpoints and proofs, and none with one change',
  { timeout: 300_000 },
  async () => {
    const { log } = await signedLog(randomOf(4), 40);
    const leaves = await leafList(
      (async function* () {
        yield* log;
      })(),
      await keysOf(log),
    );
    const notes = notesOf(log);
    const questions: [question: object, isRight: boolean][] = [];
    const key = signers(1).verifier.text;
    for (const { signed } of notes) {
      questions.push([{ key, note: signed }, true], [{ key, note: signed.replace(/\n(\d)/, '\n1$1') }, false]);
      questions.push([{ key: signers(2).verifier.text, note: signed }, false]);
    }
    const { size, root } = leaves.newest!;
    for (const event of leavesIn(log).slice(0, size)) {
      const proof = proofOf(event, { canonical: canonicalEvent(event), leaves, indexOf: leaves.indexOf, size })!;
      const hashes = proof.hashes.map((hash) => hash.toString('base64'));
      const asked = { leaf: proof.leaf, index: proof.index, size, hashes, root: root.toString('base64') };
      questions.push([asked, true], [{ ...asked, leaf: `${proof.leaf} ` }, false]);
      questions.push([{ ...asked, hashes: hashes.with(0, flipped(hashes[0]!)) }, false]);
    }
    for (const [i, older] of notes.entries()) {
      for (const newer of notes.slice(i)) {
        const hashes = consistencyProof(leaves, older.size, newer.size).map((hash) => hash.toString('base64'));
        const [olderRoot, own] = [older, newer].map((each) => each.root.toString('base64'));
        const asked = { older: older.size, size: newer.size, hashes, olderRoot, root: own };
        questions.push([asked, true], [{ ...asked, root: flipped(own!) }, false]);
      }
    }
    const { stdout, stderr } = go(
      ['run', '.'],
      questions.map(([question]) => `${JSON.stringify(question)}\n`).join(''),
    );
    expect(stderr).toBe('');
    expect(stdout.trim().split('\n')).toEqual(questions.map(([, isRight]) => String(isRight)));
    expect(questions.length).toBeGreaterThan(500);
  },
);
