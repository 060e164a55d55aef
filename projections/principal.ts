/** Who a credential speaks for, as the gate finds it at the headers of a request. */

/** Whose credential it is, whether it works or not. */
export interface Identity {
  readonly kind: 'project_key' | 'admin_key';
  readonly id: string;
  readonly organizationId: string;
  /** Of project keys; absent or empty for others. */
  readonly projectId?: string;
}

interface Base extends Identity {
  readonly name: string;
  readonly organizationStatus: 'active' | 'suspended';
  readonly permissions: ReadonlySet<string>;
  /** Milliseconds; compared on every request. */
  readonly expiresAt: number | null;
  /** Unix seconds of the last use, and the round of the access log that knows of it. Kept here, where noting costs no look-up. */
  usedAt?: number;
  usedIn?: number;
}

/** A project API key; calls the inference routes. */
export interface ProjectPrincipal extends Base {
  readonly kind: 'project_key';
  readonly projectId: string;
  readonly projectName: string;
  /** 0 (Free) to 5: the organization's tier now. */
  readonly tier: number;
}

/** An organization Admin API key; calls the administration routes. */
export interface AdminPrincipal extends Base {
  readonly kind: 'admin_key';
}

export type Principal = ProjectPrincipal | AdminPrincipal;
