import { createHash } from 'node:crypto';
import { canonicalEvent } from '../../kernel/event-hash.ts';
import type { Recorded } from '../../kernel/store.ts';
import type { SignedCheckpoint } from '../../merkle/checkpoint.ts';
import type { HashSource } from '../../merkle/tree.ts';
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
}

const exportFormat = 'weir-audit-export/1';

/**
 * The lines of an export: what it is, each event with the proof that the checkpoint covers it, and an end that tells a file that
 * was cut off from a whole one.
 */
export async function* exportLines(source: ExportSource): AsyncGenerator<string> {
  const { organizationId, checkpoint, keys, leaves, indexOf, entries } = source;
  const digest = createHash('sha256');
  const line = (object: object): string => {
    const text = `${JSON.stringify(object)}\n`;
    digest.update(text);
    return text;
  };
  yield line({
    type: 'manifest',
    format: exportFormat,
    log: checkpoint.origin,
    organization_id: organizationId,
    checkpoint: checkpoint.signed,
    public_keys: keys,
  });
  let [events, uncovered] = [0, 0];
  for await (const { event, id } of entries) {
    const canonical = canonicalEvent(event);
    const proof = proofOf(event, { canonical, leaves, indexOf: (leaf) => indexOf(leaf, event), size: checkpoint.size });
    if (!proof) {
      uncovered += 1;
      continue;
    }
    events += 1;
    const { index, leaf, hashes } = proof;
    yield line({
      type: 'event',
      ...(id !== undefined && { audit_log_id: id }),
      index,
      event: canonical,
      ...(leaf !== canonical && { stub: leaf }),
      proof: hashes.map((hash) => hash.toString('base64')),
    });
  }
  yield `${JSON.stringify({ type: 'end', events, uncovered, sha256: digest.digest('hex') })}\n`;
}
