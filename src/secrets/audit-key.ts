import { hkdfSync } from 'node:crypto';

/**
 * Seeds of a log's keys: the same in gateways that share the master key, different for each log. One seed does not
 * reveal another (HKDF).
 */
export const auditKeySeeds =
  (masterKey: Buffer) =>
  (logId: string, number: number): Buffer =>
    Buffer.from(hkdfSync('sha256', masterKey, logId, `key ${number} of the audit log`, 32));
