import { expect } from 'vitest';
import type { AdminPrincipal, Principal } from '../../projections/principal.ts';
import { adminPermissions } from '../../src/domain/permissions.ts';
import { Fault, isRefusal, type Refusal } from '../../src/errors.ts';
import { Admission, admit } from '../../src/http/admission.ts';
import { endpoint, readBody } from '../../src/http/endpoint.ts';
import type { RequestHead } from '../../src/http/head.ts';
import { Refused } from '../../src/http/refused.ts';
import type { Gate, Route } from '../../src/http/route.ts';
import { router } from '../../src/http/router.ts';

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

const refusedAs = ({ status, code, param, message, headers }: Refusal): Answer => ({
  status,
  code,
  param,
  message,
  headers,
  body: {},
});

/**
 * Calls routes as the server would, from the match of the path on. Without a gate credentials do not matter: whoever asks
 * is let in.
 */
export const asker = (routes: readonly Route[], gate?: Gate<Principal>): Ask => {
  const match = router(routes.map(endpoint));
  return async (method, url, { body, headers = {}, principal = {} } = {}) => {
    const [path = '', query = ''] = url.split('?');
    const found = match(path);
    const target = found?.place.methods.get(method);
    if (!found || !target) throw new Error(`there is no ${method} ${path}`);
    const head = { requestId: 'req_1', method, path, query, ip: '127.0.0.1', header: (name: string) => headers[name] };
    try {
      const who = gate ?? { judge: () => ({ ...administrator, ...principal }) };
      const admission = admit(target, found, head as unknown as RequestHead, who);
      if (!(admission instanceof Admission)) return refusedAs(admission);
      const sent = readBody(target, Buffer.from(body === undefined ? '' : JSON.stringify(body)));
      if (sent instanceof Refused) return refusedAs(sent.refusal);
      const call = { head, ...admission, body: sent, signal: new AbortController().signal };
      const reply = await target.route.handle(call);
      if (!('body' in reply)) throw new Error('a streamed answer');
      const answered = JSON.parse(JSON.stringify(reply.body)) as Json;
      // The documented schema strips what it does not know: nothing may be missing, and nothing more be there.
      expect(target.route.replies[reply.status]?.schema?.parse(answered)).toEqual(answered);
      return { status: reply.status, code: '', param: null, message: '', headers: reply.headers ?? {}, body: answered };
    } catch (error) {
      if (error instanceof Fault && isRefusal(error.refusal)) return refusedAs(error.refusal);
      throw error;
    }
  };
};

/** The status, and the code and parameter of a refusal: what most tests compare. */
export const gist = async (asked: Promise<Answer>): Promise<string> => {
  const { status, code, param } = await asked;
  return [status, code, param].filter((part) => part !== '' && part !== null).join(' ');
};
