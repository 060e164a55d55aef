import { createHash } from 'node:crypto';
import { canonicalEvent, NoCanonicalForm } from '../../kernel/store/event-hash.ts';
import type { Recorded } from '../../kernel/store/store.ts';
import type { SignedCheckpoint } from '../../merkle/checkpoint.ts';
import { type Hash, type HashSource, inclusionProof } from '../../merkle/tree.ts';
import { proofOf } from './proof.ts';

export interface ExportSource {
  /** Null for the whole log. */
  readonly organizationId: string | null;
  readonly checkpoint: SignedCheckpoint;
  readonly keys: readonly string[];
  readonly leaves: HashSource;
  readonly indexOf: (leaf: string, event: Recorded) => number | undefined;
  readonly entries: AsyncIterable<{ readonly event: Recorded; readonly id?: string }>;
  /** Of the whole log alone, by index of the leaf. */
  readonly stubs?: ReadonlyMap<number, string>;
}

const exportFormat = 'weir-audit-export/1';

/** An event without a canonical form is covered by no checkpoint. */
const canonicalIfAny = (event: Recorded): string | undefined => {
  try {
    return canonicalEvent(event);
  } catch (error) {
    if (error instanceof NoCanonicalForm) return undefined;
    throw error;
  }
};

/** Includes uncovered events: one before a covered event has replaced a signed event. */
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
