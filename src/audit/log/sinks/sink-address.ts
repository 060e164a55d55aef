import { type Verifier, verifierOf } from '../../../merkle/note.ts';

/** A witness of c2sp.org/tlog-witness. */
export interface WitnessAddress {
  /** Its submission prefix, without a slash at the end. */
  readonly url: string;
  readonly verifier: Verifier;
}

const form = /^witness\+(https?:\/\/[^\s#]*[^\s#/])\/?#(\S+)$/;

/** Reads `witness+<URL>#<verifier key>`; undefined where it is none. */
const witnessOf = (text: string): WitnessAddress | undefined => {
  const [, url, key] = form.exec(text) ?? [];
  const verifier = key === undefined ? undefined : verifierOf(key);
  return url !== undefined && verifier ? { url, verifier } : undefined;
};

/** Where checkpoints go that the store cannot rewrite (AUDIT_SINKS). */
export type SinkAddress =
  | { readonly kind: 'file'; readonly text: string; readonly path: string }
  | { readonly kind: 'webhook'; readonly text: string; readonly url: string }
  | ({ readonly kind: 'witness'; readonly text: string } & WitnessAddress);

const isLocal = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(hostname);

/** Reads one sink of AUDIT_SINKS. Undefined where it is none. */
export const sinkOf = (text: string): SinkAddress | undefined => {
  if (text.startsWith('/')) return { kind: 'file', text, path: text };
  const witness = witnessOf(text);
  const address = witness?.url ?? text;
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  // What is sent in clear anybody on the way may replace; on the machine itself nobody is.
  if (url.protocol !== 'https:' && !isLocal(url)) return undefined;
  return witness ? { kind: 'witness', text: address, ...witness } : { kind: 'webhook', text: url.origin, url: text };
};
