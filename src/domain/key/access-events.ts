import { day } from '../usage/day.ts';

/** What credentials did, as it is recorded in batches: no command leads to it and no chart admits it. */

/** Seconds that these records are kept, 400 days (contract C.6). What anybody decided is kept for as long as the log. */
export const accessRecordSeconds = 400 * 24 * 3600;

/** On `credentialUse-<day>`: the last uses of credentials, of whichever organizations, since their turn before. */
export interface CredentialsUsed {
  readonly type: 'credential.used';
  /** Unix seconds by credential. */
  readonly used: Readonly<Record<string, number>>;
}

/** On `denial-<organization>_<day>`: how often one credential was refused one route for one reason within one minute. */
export interface AccessDenied {
  readonly type: 'access.denied';
  readonly credential_id: string;
  readonly credential_type: 'project_key' | 'admin_key' | 'oauth_client';
  /** Of project keys. */
  readonly project_id?: string;
  /** Method and path as the route is documented, never as sent. */
  readonly route: string;
  readonly code: string;
  readonly count: number;
  /** Milliseconds. */
  readonly first_at: number;
  readonly last_at: number;
}

export const useStream = (at: number): string => `credentialUse-${day(at)}`;
export const denialStream = (organizationId: string, at: number): string => `denial-${organizationId}_${day(at)}`;
