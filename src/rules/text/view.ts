import { parseExactly } from '../../exact-number.ts';
import { maxParsedOnLoop } from '../language/limits.ts';
import {
  type MessageRecord,
  type RootName,
  roots,
  type ToolCallRecord,
  type TypedRecord,
} from '../language/variables.ts';
import { type Beside, bodyText } from './body-text.ts';
import { type Copy, foldedCopy, normalizedOnce, plainCopy } from './normal-text.ts';
import {
  answerLength,
  lengthOf,
  piecesOf,
  type RequestPieces,
  type ResponsePieces,
  responsePiecesOf,
} from './pieces.ts';
import type { RequestOwner, RequestText, ResponseText } from './request-text.ts';
import { RequestFields } from './request-values.ts';
import { responseValues } from './response-values.ts';

/** What rules see in one of the two copies of a text (contract N16). */
export interface TextView {
  readonly variables: Readonly<Partial<Record<RootName, TypedRecord<unknown>>>>;
  /** Sizes measured so far, by name (see sizes.ts). */
  readonly sizes: Map<string, number>;
}

/** A body of JSON that is not parsed yet, and what it does not say. */
export interface RawBody extends Beside {
  readonly body: Uint8Array;
  /** The API in whose form it is, where that is not the one it came by. */
  readonly form?: Beside['endpoint'];
}

/** What a view is made of. Plain data: it is sent to threads as it is. */
export interface Subject {
  readonly request: RequestPieces | RawBody;
  readonly response: ResponsePieces | null;
  readonly owner: RequestOwner;
}

/** The variables of one request, or of one answer, for any number of rules. Each text is built once, when first read. */
export interface RuleView extends TextView {
  readonly subject: () => Subject;
  /** How much text it is made of (`lengthOf`). */
  readonly length: () => number;
  /** The folded copy. */
  readonly folded: TextView;
  /** Fields of which it is known whether the copies differ. */
  readonly differing: Map<string, boolean>;
}

/** The view of rules of the request direction. */
export const requestView = (request: RequestText, owner: RequestOwner): RuleView => {
  const pieces = normalizedOnce(() => piecesOf(request));
  return viewFrom(request, { pieces, owner, answer: null });
};

/** The view of rules of the response direction, beside what `ofRequest` has already read. */
export const responseView = (ofRequest: RuleView, response: ResponseText): RuleView => {
  const answer = normalizedOnce(() => responsePiecesOf(response));
  const { subject } = ofRequest;
  const withAnswer = (view: TextView, copy: Copy): TextView => ({
    variables: { ...view.variables, response: new roots.response.Record(responseValues(answer, copy)) },
    sizes: new Map(view.sizes),
  });
  return {
    ...withAnswer(ofRequest, plainCopy),
    folded: withAnswer(ofRequest.folded, foldedCopy),
    subject: () => ({ ...subject(), response: answer() }),
    length: normalizedOnce(() => ofRequest.length() + answerLength(answer())),
    differing: new Map(ofRequest.differing),
  };
};

/** The view of a body in the form of its API. A large one is parsed where the rules are evaluated. */
export const bodyView = (raw: RawBody, owner: RequestOwner): RuleView => {
  const pieces = normalizedOnce(() => piecesIn(raw));
  const view = viewFrom(raw, { pieces, owner, answer: null });
  if (raw.body.length <= maxParsedOnLoop) return view;
  return { ...view, subject: () => ({ request: raw, response: null, owner }), length: () => raw.body.length };
};

/**
 * Whether there may be a number that JSON.parse would change: a long one, one that ends in a zero behind its point, one with an
 * exponent, a very small one, a negative zero. The model is given the digits, and so are rules.
 */
const inexact = /[[:,]\s*(?:-?[\d.]{15}|-?\d+\.\d*0(?!\d)|-?[\d.]+[eE]|-?0\.0{6}|-0(?![.\d]))/;

const piecesIn = ({ body, form, ...beside }: RawBody): RequestPieces => {
  const { endpoint } = beside;
  const said = Buffer.from(body.buffer, body.byteOffset, body.length).toString();
  const parsed = inexact.test(said) ? (parseExactly(said) as Readonly<Record<string, unknown>>) : JSON.parse(said);
  return piecesOf({ ...bodyText(parsed, { ...beside, endpoint: form ?? endpoint }), endpoint });
};

/** The same view in another thread. */
export const viewOf = ({ request, response, owner }: Subject): RuleView => {
  const pieces = normalizedOnce(() => ('body' in request ? piecesIn(request) : request));
  return viewFrom(request, { pieces, owner, answer: response && (() => response) });
};

const viewFrom = (
  request: ConstructorParameters<typeof RequestFields>[0],
  parts: {
    readonly pieces: () => RequestPieces;
    readonly owner: RequestOwner;
    readonly answer: (() => ResponsePieces) | null;
  },
): RuleView => {
  const { pieces, owner, answer } = parts;
  const copyOf = (copy: Copy): TextView => ({
    variables: {
      request: new roots.request.Record(new RequestFields(request, pieces, copy)),
      project: new roots.project.Record({ id: owner.project.id, name: copy.one(owner.project.name) }),
      key: new roots.key.Record({ id: owner.key.id, name: copy.one(owner.key.name) }),
      org: new roots.org.Record({ id: owner.org.id, tier: BigInt(owner.org.tier) }),
      ...(answer && { response: new roots.response.Record(responseValues(answer, copy)) }),
    },
    sizes: new Map(),
  });
  const plain = copyOf(plainCopy);
  return {
    ...plain,
    folded: copyOf(foldedCopy),
    subject: () => ({ request: pieces(), response: answer?.() ?? null, owner }),
    length: normalizedOnce(() => lengthOf(pieces()) + (answer ? answerLength(answer()) : 0)),
    differing: new Map(),
  };
};

/** The value of `root.field`; undefined where the view has no such root. */
export const readField = (view: TextView, root: RootName, field: string): unknown =>
  (view.variables[root]?.values as Readonly<Record<string, unknown>> | undefined)?.[field];

/** Whether a rule that reads these fields (`request.text` …) sees anything else in the folded copy. */
export const differs = (view: RuleView, reads: Iterable<string>): boolean => {
  for (const path of reads) {
    let known = view.differing.get(path);
    if (known === undefined) {
      const [root, field] = path.split('.') as [RootName, string];
      known = isOther(readField(view, root, field), readField(view.folded, root, field));
      view.differing.set(path, known);
    }
    if (known) return true;
  }
  return false;
};

const isOther = (one: unknown, other: unknown): boolean => {
  if (Array.isArray(one)) return one.some((item, at) => isOther(textIn(item), textIn((other as unknown[])[at])));
  if (one instanceof Map) return isOther([...one].flat(), [...(other as Map<string, string>)].flat());
  return one !== other;
};

const textIn = (item: unknown): unknown => {
  if (typeof item === 'string') return item;
  const values = (item as MessageRecord | ToolCallRecord).values;
  return 'text' in values ? values.text : values.arguments;
};
