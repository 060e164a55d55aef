import { digest, digestText, redact } from '../ids.ts';
import type { Secrets } from '../secrets/master-secrets.ts';

/** The fields of an event for a new token, without its value. */
export const credentialOf = (secrets: Secrets, value: string) => ({
  digest: digestText(digest(secrets.pepper, value)),
  pepperId: secrets.pepperId,
  redactedValue: redact(value),
});
