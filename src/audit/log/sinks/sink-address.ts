import { type Verifier, verifierOf } from '../../../merkle/note.ts';

export interface WitnessAddress {
  /** Submission prefix, without a slash at the end. */
  readonly url: string;
  readonly verifier: Verifier;
}

const form = /^witness\+(https?:\/\/[^\s#]*[^\s#/])\/?#(\S+)$/;

/** `witness+<URL>#<verifier key>` */
const witnessOf = (text: string): WitnessAddress | undefined => {
  const [, url, key] = form.exec(text) ?? [];
  const verifier = key === undefined ? undefined : verifierOf(key);
  return url !== undefined && verifier ? { url, verifier } : undefined;
};

export type SinkAddress =
  | { readonly kind: 'file'; readonly text: string; readonly path: string }
  | { readonly kind: 'webhook'; readonly text: string; readonly url: string }
  | ({ readonly kind: 'witness'; readonly text: string } & WitnessAddress);

const isLocal = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(hostname);

/** Undefined unless the text is a valid sink of AUDIT_SINKS. */
export const sinkOf = (text: string): SinkAddress | undefined => {
  if (text.startsWith('/')) return { kind: 'file', text, path: text };
  const witness = witnessOf(text);
  const address = witness?.url ?? text;
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  // Plain HTTP can be changed on its way, except on the machine itself.
  if (url.protocol !== 'https:' && !isLocal(url)) return undefined;
  return witness ? { kind: 'witness', text: address, ...witness } : { kind: 'webhook', text: url.origin, url: text };
};
