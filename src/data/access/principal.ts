import type { AliasTable } from '../../aliases.ts';

/** What the gate finds at the headers of a request. */

export interface Identity {
  readonly kind: 'project_key' | 'admin_key' | 'oauth_client';
  readonly id: string;
  readonly organizationId: string;
  /** Absent or empty for other kinds. */
  readonly projectId?: string;
  /** Of a rotated key: the first of its line, whose windows count it. */
  readonly windowsOf?: string;
  /** Whether other keys share its windows. */
  readonly sharesWindows?: boolean;
  /** It may have changed: ask the directory again. */
  stale?: boolean;
}

interface Base extends Identity {
  readonly inactive?: undefined;
  readonly name: string;
  readonly organizationStatus: 'active' | 'suspended';
  readonly permissions: ReadonlySet<string>;
  /** Milliseconds. */
  readonly expiresAt: number | null;
  /** Unix seconds of the last use in the access log; kept here to save a look-up. */
  usedAt?: number;
  noted?: boolean;
}

/** The models with these ids, or all others. Plain data, which goes to threads. */
export interface AllowedModels {
  readonly ids: ReadonlySet<string>;
  readonly areDenied: boolean;
}

export interface ProjectPrincipal extends Base {
  readonly kind: 'project_key';
  readonly projectId: string;
  readonly projectName: string;
  /** Null: all (contract B.2). */
  readonly allowedModels: AllowedModels | null;
  /** Null: none (contract B.2). */
  readonly modelAliases: AliasTable | null;
  /** 0 (Free) to 5. */
  readonly tier: number;
}

/** An Admin API key, or an OAuth client by a token. */
export interface AdminPrincipal extends Base {
  readonly kind: 'admin_key' | 'oauth_client';
}

/** By `Authorization: Bearer`. */
export type BearerPrincipal = ProjectPrincipal | AdminPrincipal;

/** By its own secret, which opens no route. `permissions` bound those of its tokens. */
export interface ClientPrincipal extends Omit<Base, 'kind'> {
  readonly kind: 'client_secret';
}

export type Principal = BearerPrincipal | ClientPrincipal;
