import { createHash } from 'node:crypto';
import { canonicalEvent, NoCanonicalForm } from '../../kernel/store/event-hash.ts';
import type { Recorded } from '../../kernel/store/store.ts';
import type { SignedCheckpoint } from '../../merkle/checkpoint.ts';
import { type Hash, type HashSource, inclusionProof } from '../../merkle/tree.ts';
import { proofOf } from './proof.ts';

/** What an export is made of. */
export interface ExportSource {
  /** Null for all of the log. */
  readonly organizationId: string | null;
  readonly checkpoint: SignedCheckpoint;
  /** Verifier keys, the first one first. */
  readonly keys: readonly string[];
  readonly leaves: HashSource;
  readonly indexOf: (leaf: string, event: Recorded) => number | undefined;
  readonly entries: AsyncIterable<{ readonly event: Recorded; readonly id?: string }>;
  /** By index: what stays of events that may be removed. Of all of the log only; there each leaf gets a line. */
  readonly stubs?: ReadonlyMap<number, string>;
}

const exportFormat = 'weir-audit-export/1';

/** Undefined of what has no canonical form, which no checkpoint covers. */
const canonicalIfAny = (event: Recorded): string | undefined => {
  try {
    return canonicalEvent(event);
  } catch (error) {
    if (error instanceof NoCanonicalForm) return undefined;
    throw error;
  }
};

/**
 * The lines of an export: what it is, each event with the proof that the checkpoint covers it, what stays of the removed ones, and
 * an end that tells a file that was cut off from a whole one. An event that no checkpoint covers is told too: with covered ones
 * behind it, it is not the one that was signed.
 */
export async function* exportLines(source: ExportSource): AsyncGenerator<string> {
  const { organizationId, checkpoint, keys, leaves, indexOf, entries, stubs } = source;
  const digest = createHash('sha256');
  const line = (object: object): string => {
    const text = `${JSON.stringify(object)}\n`;
    digest.update(text);
    return text;
  };
  const told = (hashes: readonly Hash[]): string[] => hashes.map((hash) => hash.toString('base64'));
  yield line({
    type: 'manifest',
    format: exportFormat,
    log: checkpoint.origin,
    organization_id: organizationId,
    checkpoint: checkpoint.signed,
    public_keys: keys,
  });
  const left = new Map(stubs);
  let [events, removed, uncovered] = [0, 0, 0];
  for await (const { event, id } of entries) {
    const canonical = canonicalIfAny(event);
    const named = id !== undefined && { audit_log_id: id };
    const proof =
      canonical === undefined
        ? undefined
        : proofOf(event, { canonical, leaves, indexOf: (leaf) => indexOf(leaf, event), size: checkpoint.size });
    if (!proof) {
      uncovered += 1;
      const { position: _, ...recorded } = event;
      yield line({ type: 'uncovered', ...named, event: canonical ?? JSON.stringify(recorded) });
      continue;
    }
    events += 1;
    const { index, leaf, hashes } = proof;
    left.delete(index);
    const stub = leaf !== canonical && { stub: leaf };
    yield line({ type: 'event', ...named, index, event: canonical, ...stub, proof: told(hashes) });
  }
  for (const [index, stub] of left) {
    removed += 1;
    yield line({ type: 'removed', index, stub, proof: told(inclusionProof(leaves, index, checkpoint.size)) });
  }
  yield `${JSON.stringify({ type: 'end', events, removed, uncovered, sha256: digest.digest('hex') })}\n`;
}
