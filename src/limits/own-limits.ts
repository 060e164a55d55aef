/** Limits of a project, a model in it, or a key (contract F.8); null where the tier's holds. The smaller of the two is in force. */
export interface OwnLimits {
  readonly rpm: number | null;
  readonly tpm: number | null;
  readonly rpd: number | null;
  /** Of a key alone. */
  readonly concurrent: number | null;
}

export interface ProjectLimits {
  /** Of the project as a whole. */
  readonly whole: OwnLimits | null;
  /** By the model's id, where it has a value of its own. */
  readonly models: ReadonlyMap<string, OwnLimits>;
}

/** Asked when a record is made, and again when it is told that they have changed. */
export interface OwnLimitsSource {
  /** @param line the first key of the chain of rotations, whose keys have one set of limits */
  ofKey(line: string): OwnLimits | null;
  ofProject(project: string, organization: string): ProjectLimits | null;
}

export const noOwnLimits: OwnLimitsSource = { ofKey: () => null, ofProject: () => null };

/** By these two are equal. */
export const nameOf = (own: OwnLimits | null): string =>
  own === null ? '' : `${own.rpm} ${own.tpm} ${own.rpd} ${own.concurrent}`;
