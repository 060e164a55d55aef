import { request as askHttp } from 'node:http';
import { request as askHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { TLSSocket } from 'node:tls';
import { z } from 'zod';
import type { Millis } from '../../clock.ts';
import { printable, UsageError } from '../terminal.ts';

export interface ServerAnswer {
  readonly status: number;
  /** Null if it is not JSON. */
  readonly body: unknown;
  /** Seconds; NaN without the header. */
  readonly retryAfter: number;
  /** Milliseconds; null without TLS. */
  readonly certificateEnds: Millis | null;
}

/** A base URL without trailing slashes. @throws UsageError */
export const baseUrlOf = (url: string): string => {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new UsageError(`${printable(url)} is not a URL such as http://127.0.0.1:8080.`);
  const { username, password } = new URL(url);
  if (username !== '' || password !== '') throw new UsageError('Give the URL without a user and a password.');
  return url.replace(/\/+$/, '');
};

/** A certificate rarely names the local machine. */
const isThisMachine = ({ hostname }: URL): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);

/** Follows no redirects, so that the key goes nowhere else. @throws Error whose message is the reason */
export const askServer = async (url: string, key: string | undefined, timeoutMs: Millis): Promise<ServerAnswer> => {
  const to = new URL(url);
  const options = {
    headers: { accept: 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
    signal: AbortSignal.timeout(timeoutMs),
    rejectUnauthorized: !isThisMachine(to),
  };
  try {
    return await new Promise((resolve, reject) => {
      const request = (to.protocol === 'https:' ? askHttps : askHttp)(to, options, (response) => {
        const { statusCode: status = 0, headers, socket } = response;
        const certificateEnds = socket instanceof TLSSocket ? Date.parse(socket.getPeerCertificate().valid_to) : null;
        const retryAfter = Number(headers['retry-after'] ?? Number.NaN);
        text(response).then((body) => resolve({ status, body: parsed(body), retryAfter, certificateEnds }), reject);
      });
      request.on('error', reject).end();
    });
  } catch (error) {
    throw new Error(printable(reasonOf(error as NodeJS.ErrnoException)), { cause: error });
  }
};

const refusal = z.object({ error: z.object({ message: z.string() }) });

export const messageOf = (body: unknown): string | undefined => refusal.safeParse(body).data?.error.message;

const ofTrust = /CERT|SIGNATURE|ISSUER|ALTNAME/;

const reasonOf = (error: NodeJS.ErrnoException): string => {
  if (error.name === 'AbortError') return 'no answer in time';
  // An AggregateError of several addresses has no message of its own.
  const [each] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  const reason = each?.message || error.message || String(error.code);
  return ofTrust.test(error.code ?? '')
    ? `${reason} (NODE_EXTRA_CA_CERTS names the certificate of a private authority)`
    : reason;
};

const parsed = (body: string): unknown => {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
};
