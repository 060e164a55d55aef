import { z } from 'zod';
import { type AuditRow, auditKeyOf, auditNumberOf, auditRows } from '../../../projections/audit-log.ts';
import { auditTreeHashes, auditTreeHead, auditTreeIndex } from '../../../projections/audit-tree.ts';
import { exportLines } from '../../audit/log/export.ts';
import { beliefOf, keysIn, signersOf } from '../../audit/log/keys.ts';
import { leafOf } from '../../audit/log/leaf.ts';
import { isSignedByOne, proofOf } from '../../audit/log/proof.ts';
import { fault } from '../../errors.ts';
import type { Route, Sink } from '../../http/route.ts';
import type { Budget } from '../../kernel/store/budget.ts';
import { canonicalEvent } from '../../kernel/store/event-hash.ts';
import type { Recorded } from '../../kernel/store/store.ts';
import { parsedCheckpoint, type SignedCheckpoint, tlogProof } from '../../merkle/checkpoint.ts';
import { type AdminCall, adminRoute } from '../admin-route.ts';
import { type Administration, contextOf, execute } from '../command.ts';
import { countOf } from './audit-search.ts';

const checkpointObject = z
  .object({
    object: z.literal('organization.audit_log.checkpoint'),
    size: z.int().describe('Leaves of the log, of all organizations'),
    root_hash: z.string(),
    checkpoint: z.string().describe('The signed note (c2sp.org/tlog-checkpoint)'),
    public_keys: z.array(z.string()).describe('Verifier keys; the last one has signed'),
  })
  .meta({ id: 'AuditLogCheckpoint' });

const proofObject = z
  .object({
    object: z.literal('organization.audit_log.proof'),
    audit_log_id: z.string(),
    index: z.int(),
    leaf: z.string().describe('What is hashed behind a zero byte: the canonical form of the event, or its stub'),
    event: z.string().describe('The canonical form of the event (RFC 8785)'),
    hashes: z.array(z.string()),
    checkpoint: checkpointObject,
    tlog_proof: z.string().describe('The same proof as c2sp.org/tlog-proof has it'),
  })
  .meta({ id: 'AuditLogProof' });

const page = 100;

const tooEarly = () =>
  fault('dependency_unavailable', {
    message: 'No checkpoint of the audit log covers this yet; one is signed within a second.',
    headers: { 'Retry-After': '1' },
  });

interface Newest {
  readonly signed: SignedCheckpoint;
  readonly keys: readonly string[];
}

const newest = async ({ models, secrets, store }: Administration, call: AdminCall): Promise<Newest> => {
  const head = auditTreeHead(models);
  const signed = head && parsedCheckpoint(head.note);
  if (!head || !signed) throw tooEarly();
  const belief = beliefOf(signersOf(signed.origin, secrets.masterKey));
  const { budget } = contextOf(call);
  const { believed } = await execute(() => keysIn(store, belief, budget));
  const signer = believed.findLastIndex((key) => isSignedByOne(signed, [key]));
  // Not signed by the gateway's own keys: treated as no checkpoint.
  if (signer < 0) throw tooEarly();
  return { signed, keys: believed.slice(0, signer + 1).map(({ verifier }) => verifier.text) };
};

const rendered = ({ signed, keys }: Newest) => ({
  object: 'organization.audit_log.checkpoint' as const,
  size: signed.size,
  root_hash: signed.root.toString('base64'),
  checkpoint: signed.signed,
  public_keys: keys,
});

/** Undefined if the event has expired. */
const eventOf = async ({ store }: Administration, row: AuditRow, budget?: Budget): Promise<Recorded | undefined> => {
  const { stream, revision } = row.place;
  for await (const event of store.read(stream, { from: revision, limit: 1, budget })) {
    if (event.revision === revision) return event;
  }
  return undefined;
};

async function* entriesOf(admin: Administration, organizationId: string) {
  const { models } = admin;
  const count = countOf(models, organizationId);
  for (let from = 0; from < count; from += page) {
    const prefix = `${organizationId}:`;
    const after = from === 0 ? undefined : auditKeyOf(organizationId, from - 1);
    const rows = models.range(auditRows, { prefix, after, limit: Math.min(page, count - from) });
    for (const { row } of rows) {
      const event = await eventOf(admin, row);
      if (event) yield { event, id: row.id };
    }
  }
}

const write = async (admin: Administration, sink: Sink, organizationId: string, { signed, keys }: Newest) => {
  const { models } = admin;
  const lines = exportLines({
    ...{ organizationId, checkpoint: signed, keys },
    leaves: auditTreeHashes(models),
    indexOf: (leaf, { position }) => auditTreeIndex(models, leaf, position),
    entries: entriesOf(admin, organizationId),
  });
  for await (const line of lines) {
    if (sink.gone) return;
    if (!sink.write(line)) await sink.drained();
  }
};

const checkpointRoute = (admin: Administration): Route =>
  adminRoute('audit_logs:read', {
    method: 'GET',
    path: '/v1/organization/audit_logs/checkpoint',
    operation: 'retrieveAuditLogCheckpoint',
    summary: 'Retrieve the newest signed checkpoint of the audit log',
    replies: { 200: { description: 'The checkpoint', schema: checkpointObject } },
    errors: ['dependency_unavailable'],
    handle: async (call) => ({ status: 200, body: rendered(await newest(admin, call)) }),
  });

const exportRoute = (admin: Administration): Route =>
  adminRoute('audit_logs:read', {
    method: 'GET',
    path: '/v1/organization/audit_logs/export',
    operation: 'exportAuditLogs',
    summary: 'Stream every entry with the proof that a signed checkpoint covers it, to be verified elsewhere',
    replies: {
      200: { description: 'A JSON object a line', schema: z.string(), media: 'application/x-ndjson' },
    },
    errors: ['dependency_unavailable'],
    async handle(call) {
      const checkpoint = await newest(admin, call);
      return {
        status: 200,
        headers: { 'Content-Type': 'application/x-ndjson' },
        stream: (sink) => write(admin, sink, call.principal.organizationId, checkpoint),
      };
    },
  });

const proofRoute = (admin: Administration): Route =>
  adminRoute('audit_logs:read', {
    method: 'GET',
    path: '/v1/organization/audit_logs/{audit_log_id}/proof',
    operation: 'retrieveAuditLogProof',
    summary: 'Retrieve the proof that an entry is in the log',
    params: z.object({ audit_log_id: z.string() }),
    find({ principal: { organizationId }, params: { audit_log_id: id } }): AuditRow {
      const number = auditNumberOf(admin.models, organizationId, id);
      const row = number === undefined ? undefined : admin.models.get(auditRows, auditKeyOf(organizationId, number));
      if (!row) throw fault('audit_log_not_found');
      return row;
    },
    replies: { 200: { description: 'The proof', schema: proofObject } },
    errors: ['audit_log_not_found', 'dependency_unavailable'],
    async handle(call) {
      const event = await eventOf(admin, call.found, contextOf(call).budget);
      if (!event) throw fault('audit_log_not_found');
      const checkpoint = await newest(admin, call);
      const { signed } = checkpoint;
      const canonical = canonicalEvent(event);
      const leaves = auditTreeHashes(admin.models);
      const index = auditTreeIndex(admin.models, leafOf(event).hash, event.position);
      const proof = proofOf(event, { canonical, leaves, indexOf: () => index, size: signed.size });
      if (!proof) throw tooEarly();
      const body = {
        object: 'organization.audit_log.proof',
        audit_log_id: call.found.id,
        index: proof.index,
        leaf: proof.leaf,
        event: canonical,
        hashes: proof.hashes.map((hash) => hash.toString('base64')),
        checkpoint: rendered(checkpoint),
        tlog_proof: tlogProof(proof.index, proof.hashes, signed.signed),
      };
      return { status: 200, body };
    },
  });

/** `GET …/audit_logs/checkpoint`, `…/{audit_log_id}/proof` and `…/export` (contract C.6). Unspecified: their shapes. */
export const auditProofRoutes = (admin: Administration): Route[] => [
  checkpointRoute(admin),
  exportRoute(admin),
  proofRoute(admin),
];
