import { hkdfSync } from 'node:crypto';

/**
 * The seeds of a log's keys by their numbers: of the master key, so that gateways which share that sign alike, and of the log,
 * so that two logs never share a key. Who has one of them learns nothing of the next (HKDF).
 */
export const auditKeySeeds =
  (masterKey: Buffer) =>
  (logId: string, number: number): Buffer =>
    Buffer.from(hkdfSync('sha256', masterKey, logId, `key ${number} of the audit log`, 32));
