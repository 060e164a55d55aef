/** Who a credential speaks for, as the gate finds it at the headers of a request. */

interface Base {
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  readonly organizationStatus: 'active' | 'suspended';
  readonly permissions: ReadonlySet<string>;
  /** Milliseconds; compared on every request. */
  readonly expiresAt: number | null;
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
