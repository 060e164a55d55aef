import { digest, digestText, redact } from '../ids.ts';
import type { Secrets } from '../secrets/master-secrets.ts';

/** What of a token goes into the event that makes its key: everything but its value. */
export const credentialOf = (secrets: Secrets, value: string) => ({
  digest: digestText(digest(secrets.pepper, value)),
  pepperId: secrets.pepperId,
  redactedValue: redact(value),
});
