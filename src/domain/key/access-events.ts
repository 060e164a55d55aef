import { day } from '../usage/day.ts';

/** 400 days (contract C.6). */
export const accessRecordSeconds = 400 * 24 * 3600;

/** On `credentialUse-<day>`: last uses of credentials of any organizations. */
export interface CredentialsUsed {
  readonly type: 'credential.used';
  /** Unix seconds by credential. */
  readonly used: Readonly<Record<string, number>>;
}

/** On `denial-<organization>_<day>`: refusals of one credential on one route with one code within a minute. */
export interface AccessDenied {
  readonly type: 'access.denied';
  readonly credential_id: string;
  readonly credential_type: 'project_key' | 'admin_key' | 'oauth_client';
  /** Only of project keys. */
  readonly project_id?: string;
  /** Method and path as documented, never as sent. */
  readonly route: string;
  readonly code: string;
  readonly count: number;
  /** Milliseconds. */
  readonly first_at: number;
  readonly last_at: number;
}

export const useStream = (at: number): string => `credentialUse-${day(at)}`;
export const denialStream = (organizationId: string, at: number): string => `denial-${organizationId}_${day(at)}`;
