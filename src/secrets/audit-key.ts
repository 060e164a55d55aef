import { hkdfSync } from 'node:crypto';

/** The same in gateways that share the master key; one seed does not reveal another (HKDF). */
export const auditKeySeeds =
  (masterKey: Buffer) =>
  (logId: string, number: number): Buffer =>
    Buffer.from(hkdfSync('sha256', masterKey, logId, `key ${number} of the audit log`, 32));
