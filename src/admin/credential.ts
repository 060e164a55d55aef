import { digest, digestText, newToken, redact, type TokenKind } from '../ids.ts';
import type { Secrets } from '../secrets.ts';

/** A token, and what of it goes into the event: everything but its value. */
export const credentialOf = (secrets: Secrets, value: string) => ({
  digest: digestText(digest(secrets.pepper, value)),
  pepperId: secrets.pepperId,
  redactedValue: redact(value),
});

/** A new secret. `value` is for the answer alone. */
export const mintCredential = (secrets: Secrets, kind: TokenKind) => {
  const value = newToken(kind);
  return { value, ...credentialOf(secrets, value) };
};
