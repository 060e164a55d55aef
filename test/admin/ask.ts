import type { AdminPrincipal, BearerPrincipal } from '../../src/data/access/principal.ts';
import { adminPermissions } from '../../src/domain/permissions.ts';
import type { Gate, Route } from '../../src/http/route.ts';
import { type Call, inProcess } from '../support/in-process.ts';
import { unlimitedGate } from '../support/unlimited.ts';

/** A JSON object of which nothing is known yet. */
export interface Json {
  readonly [name: string]: unknown;
}

export interface Answer {
  readonly status: number;
  /** The code of a refusal, else the empty string. */
  readonly code: string;
  readonly param: string | null;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

export interface AskOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The client's address. */
  readonly ip?: string;
  readonly principal?: Partial<AdminPrincipal>;
}

export type Ask = (method: string, url: string, options?: AskOptions) => Promise<Answer>;

const administrator: AdminPrincipal = {
  kind: 'admin_key',
  id: 'akey_1',
  name: 'a',
  organizationId: 'org_1',
  organizationStatus: 'active',
  permissions: new Set(adminPermissions),
  expiresAt: null,
};

const noError = { code: '', param: null, message: '' };

/**
 * Calls routes as the server would, from the match of the path on. Without a gate credentials do not matter: whoever asks
 * is let in.
 */
export const asker = (routes: readonly Route[], gate?: Gate<BearerPrincipal>): Ask => {
  let principal = administrator;
  const call: Call = inProcess(routes, gate ?? unlimitedGate(() => principal));
  return async (method, url, options = {}) => {
    principal = { ...administrator, ...options.principal };
    const { status, written: headers, body, thrown } = await call(method, url, options);
    if (thrown !== undefined) throw thrown;
    const { code, param, message } = status >= 400 ? body.error : noError;
    return { status, code, param, message, headers, body };
  };
};

/** The status, and the code and parameter of a refusal: what most tests compare. */
export const gist = async (asked: Promise<Answer>): Promise<string> => {
  const { status, code, param } = await asked;
  return [status, code, param].filter((part) => part !== '' && part !== null).join(' ');
};
