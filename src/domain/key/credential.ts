/** A key or an OAuth client, without its secret. Times in milliseconds. */
export interface Credential {
  readonly organizationId: string;
  readonly name: string;
  readonly permissions: readonly string[];
  readonly createdAt: number;
  readonly digest: string;
  readonly pepperId: string;
  readonly redactedValue: string;
}

/** The same in the event of its creation. */
export interface CredentialFields {
  readonly organization_id: string;
  readonly name: string;
  readonly permissions: readonly string[];
  readonly created_at: number;
  readonly digest: string;
  readonly pepper_id: string;
  readonly redacted_value: string;
}
