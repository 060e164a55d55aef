import { digest, digestText, redact } from '../ids.ts';
import type { Secrets } from '../secrets/master-secrets.ts';

export const credentialOf = (secrets: Secrets, value: string) => ({
  digest: digestText(digest(secrets.pepper, value)),
  pepperId: secrets.pepperId,
  redactedValue: redact(value),
});
