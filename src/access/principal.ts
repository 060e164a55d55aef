/** Who a credential speaks for, as the gate finds it at the headers of a request. */

/** Whose credential it is, whether it works or not. */
export interface Identity {
  readonly kind: 'project_key' | 'admin_key' | 'oauth_client';
  readonly id: string;
  readonly organizationId: string;
  /** Of project keys; absent or empty for others. */
  readonly projectId?: string;
  /** Of a key that was made by rotation: whose windows count it, the first key of its line. */
  readonly windowsOf?: string;
  /** Whether other keys of its line are counted in the same windows. */
  readonly sharesWindows?: boolean;
  /** What it says may have changed: whoever has kept it asks the directory again. */
  stale?: boolean;
}

interface Base extends Identity {
  /** Only of credentials that do not work. */
  readonly inactive?: undefined;
  readonly name: string;
  readonly organizationStatus: 'active' | 'suspended';
  readonly permissions: ReadonlySet<string>;
  /** Milliseconds; compared on every request. */
  readonly expiresAt: number | null;
  /** Unix seconds of the last use, and whether the access log knows of it. Kept here, where noting costs no look-up. */
  usedAt?: number;
  noted?: boolean;
}

/** A project API key; calls the inference routes. */
export interface ProjectPrincipal extends Base {
  readonly kind: 'project_key';
  readonly projectId: string;
  readonly projectName: string;
  /** Models that the project may use; null: all (contract B.2). */
  readonly allowedModels: ReadonlySet<string> | null;
  /** 0 (Free) to 5: the organization's tier now. */
  readonly tier: number;
}

/** Who calls the administration routes: an organization's Admin API key, or an OAuth client by one of its tokens. */
export interface AdminPrincipal extends Base {
  readonly kind: 'admin_key' | 'oauth_client';
}

/** Who may call routes, by what it sends as `Authorization: Bearer`. */
export type BearerPrincipal = ProjectPrincipal | AdminPrincipal;

/** An OAuth client by its own secret; gets tokens and calls nothing. `permissions` is the most that a token of it may have. */
export interface ClientPrincipal extends Omit<Base, 'kind'> {
  readonly kind: 'client_secret';
}

export type Principal = BearerPrincipal | ClientPrincipal;
