/** The content of a draft or a published version (contract B.5, H). */

export const directions = ['request', 'response'] as const;
export const modes = ['monitoring', 'enforcing'] as const;
export const scopes = ['organization', 'project'] as const;

export type Direction = (typeof directions)[number];
export type Mode = (typeof modes)[number];
export type PolicyScope = (typeof scopes)[number];

export interface Terms {
  readonly rule: string;
  readonly direction: Direction;
  readonly mode: Mode;
  readonly scope: PolicyScope;
  /** A set: the order has no meaning. */
  readonly projectIds: readonly string[];
  readonly thresholdBasisPoints: number;
}

export interface TermsFields {
  readonly rule: string;
  readonly direction: Direction;
  readonly mode: Mode;
  readonly scope: PolicyScope;
  readonly project_ids: readonly string[];
  readonly match_threshold_basis_points: number;
}

export const defaultTerms: Terms = {
  rule: '',
  direction: 'request',
  mode: 'monitoring',
  scope: 'organization',
  projectIds: [],
  thresholdBasisPoints: 5000,
};

export const fieldsOf = (terms: Terms): TermsFields => ({
  rule: terms.rule,
  direction: terms.direction,
  mode: terms.mode,
  scope: terms.scope,
  project_ids: terms.projectIds,
  match_threshold_basis_points: terms.thresholdBasisPoints,
});

export const edited = (
  terms: Terms,
  fields: { readonly [K in keyof TermsFields]?: TermsFields[K] | undefined },
): Terms => ({
  rule: fields.rule ?? terms.rule,
  direction: fields.direction ?? terms.direction,
  mode: fields.mode ?? terms.mode,
  scope: fields.scope ?? terms.scope,
  projectIds: fields.project_ids ?? terms.projectIds,
  thresholdBasisPoints: fields.match_threshold_basis_points ?? terms.thresholdBasisPoints,
});

export const termsOf = (fields: TermsFields): Terms => edited(defaultTerms, fields);

const sameSet = (a: readonly string[], b: readonly string[]): boolean => {
  const known = new Set(a);
  return known.size === new Set(b).size && b.every((id) => known.has(id));
};

export const sameTerms = (a: Terms, b: Terms): boolean =>
  a.rule === b.rule &&
  a.direction === b.direction &&
  a.mode === b.mode &&
  a.scope === b.scope &&
  a.thresholdBasisPoints === b.thresholdBasisPoints &&
  sameSet(a.projectIds, b.projectIds);

export const scopeFits = (scope: PolicyScope, projectIds: readonly string[]): boolean =>
  (scope === 'project') === projectIds.length > 0;

export const scopeMisfit = 'Must name at least one project where scope is project, and none where it is organization.';
