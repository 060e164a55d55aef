import { type Refusal, refusal } from '../../errors.ts';

/** Unspecified: an organization's share. */
const sharedBy = 4;

const ofOrganization = refusal('server_busy', {
  message: 'The requests of this organization in flight hold as many bytes as they may.',
});
const ofAll = refusal('server_busy');

export class ByteBudget {
  used = 0;
  readonly #most: number;
  readonly #share: number;
  readonly #held = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
    this.#share = Math.floor(most / sharedBy);
  }

  /** @param organization its id, or empty. Returns a 503 if exceeded; then nothing is taken. */
  take(organization: string, bytes: number): Refusal | undefined {
    const held = (this.#held.get(organization) ?? 0) + bytes;
    if (held > this.#share) return ofOrganization;
    if (this.used + bytes > this.#most) return ofAll;
    this.used += bytes;
    this.#held.set(organization, held);
    return undefined;
  }

  give(organization: string, bytes: number): void {
    this.used -= bytes;
    const held = this.#held.get(organization)! - bytes;
    if (held === 0) this.#held.delete(organization);
    else this.#held.set(organization, held);
  }
}
