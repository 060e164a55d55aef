import { type RootName, roots, type TypedRecord } from '../language/variables.ts';
import { normal } from './normal-text.ts';
import type { RequestOwner, RequestText, ResponseText } from './request-text.ts';
import { requestValues } from './request-values.ts';
import { responseValues } from './response-values.ts';

/** The variables of one request, or of one answer, for any number of rules. Each text is built once, when first read. */
export interface RuleView {
  readonly variables: Readonly<Partial<Record<RootName, TypedRecord<unknown>>>>;
  /** Sizes measured so far, by name (see sizes.ts). */
  readonly sizes: Map<string, number>;
}

/** The view of rules of the request direction. */
export const requestView = (request: RequestText, { project, key, org }: RequestOwner): RuleView => ({
  variables: {
    request: new roots.request.Record(requestValues(request)),
    project: new roots.project.Record({ id: project.id, name: normal(project.name) }),
    key: new roots.key.Record({ id: key.id, name: normal(key.name) }),
    org: new roots.org.Record({ id: org.id, tier: BigInt(org.tier) }),
  },
  sizes: new Map(),
});

/** The view of rules of the response direction, beside what `ofRequest` has already read. */
export const responseView = (ofRequest: RuleView, response: ResponseText): RuleView => ({
  variables: { ...ofRequest.variables, response: new roots.response.Record(responseValues(response)) },
  sizes: new Map(ofRequest.sizes),
});

/** The value of `root.field`; undefined where the view has no such root. */
export const readField = (view: RuleView, root: RootName, field: string): unknown =>
  (view.variables[root]?.values as Readonly<Record<string, unknown>> | undefined)?.[field];
