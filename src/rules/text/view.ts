import { jsonText } from '../../json/exact-number.ts';
import { maxParsedOnLoop } from '../language/limits.ts';
import {
  type MessageRecord,
  type RequestValues,
  type ResponseValues,
  type RootName,
  roots,
  type ToolCallRecord,
  type TypedRecord,
} from '../language/variables.ts';
import { type ResponsePieces, responsePiecesOf } from './answer-pieces.ts';
import { piecesIn, type RequestPieces } from './body-text.ts';
import { answerLength, lengthOf } from './lengths.ts';
import { Copy, normalizedOnce } from './normal-text.ts';
import type { RawBody, RequestOwner, RequestText, ResponseText } from './request-text.ts';
import { RequestFields } from './request-values.ts';
import { ResponseFields } from './response-values.ts';

/** The variables of one copy (contract H). */
export interface TextView {
  readonly variables: { readonly [name in RootName]?: TypedRecord<unknown> | undefined };
  readonly sizes: Map<string, number>;
}

/** The data of a view. Plain, because it is sent to threads. */
export interface Subject {
  readonly request: RequestPieces | RawBody;
  readonly response: ResponsePieces | null;
  readonly owner: RequestOwner;
}

type RequestRecord = TypedRecord<RequestValues>;
type ResponseRecord = TypedRecord<ResponseValues>;

/** The groups of variables; rarely used ones are made when read. */
class Variables {
  readonly request: RequestRecord;
  readonly response: ResponseRecord | undefined;
  readonly #owner: RequestOwner;
  readonly #copy: Copy;

  constructor(request: RequestRecord, response: ResponseRecord | undefined, owner: RequestOwner, copy: Copy) {
    this.request = request;
    this.response = response;
    this.#owner = owner;
    this.#copy = copy;
  }

  get project() {
    const { id, name } = this.#owner.project;
    return new roots.project.Record({ id, name: this.#copy.one(name) });
  }
  get key() {
    const { id, name } = this.#owner.key;
    return new roots.key.Record({ id, name: this.#copy.one(name) });
  }
  get org() {
    const { id, tier } = this.#owner.org;
    return new roots.org.Record({ id, tier: BigInt(tier) });
  }
}

class CopyView implements TextView {
  readonly variables: Variables;
  #sizes: Map<string, number> | undefined;

  constructor(variables: Variables) {
    this.variables = variables;
  }

  get sizes(): Map<string, number> {
    this.#sizes ??= new Map();
    return this.#sizes;
  }
}

interface Source {
  /** A body that is too large to parse on the event loop; null otherwise. */
  readonly raw: RawBody | null;
  readonly pieces: () => RequestPieces;
  readonly answer: (() => ResponsePieces) | null;
  readonly owner: RequestOwner;
}

/** The variables of one request or answer for all rules; each text is built once, when first read. A class for speed. */
export class RuleView extends CopyView {
  /** Whether the copies of a field differ, as far as known. */
  readonly differing = new Map<string, boolean>();
  readonly #source: Source;
  readonly #foldedRequest: () => RequestRecord;
  #folded: CopyView | undefined;

  constructor(source: Source, request: RequestRecord, foldedRequest: () => RequestRecord) {
    super(variablesOf(source, request, new Copy(false)));
    this.#source = source;
    this.#foldedRequest = foldedRequest;
  }

  get folded(): TextView {
    return this.#foldedView();
  }

  get organizationId(): string {
    return this.#source.owner.org.id;
  }

  subject(): Subject {
    const { raw, pieces, answer, owner } = this.#source;
    return { request: raw ?? pieces(), response: answer?.() ?? null, owner };
  }

  /** Amount of text (`lengthOf`). */
  length(): number {
    const { raw, pieces, answer } = this.#source;
    const request = raw === null ? lengthOf(pieces()) : raw.body.length;
    return answer === null ? request : request + answerLength(answer());
  }

  /** The same request with its answer; texts that were read are kept. */
  answered(response: ResponseText): RuleView {
    const answer = normalizedOnce(() => responsePiecesOf(response));
    const folded = () => this.#foldedView().variables.request;
    const { raw, pieces, owner } = this.#source;
    return new RuleView({ raw, pieces, answer, owner }, this.variables.request, folded);
  }

  #foldedView(): CopyView {
    this.#folded ??= new CopyView(variablesOf(this.#source, this.#foldedRequest(), new Copy(true)));
    return this.#folded;
  }
}

const variablesOf = ({ answer, owner }: Source, request: RequestRecord, copy: Copy): Variables => {
  const response = answer === null ? undefined : new roots.response.Record(new ResponseFields(answer, copy));
  return new Variables(request, response, owner, copy);
};

const viewFrom = (request: ConstructorParameters<typeof RequestFields>[0], source: Source): RuleView => {
  const fieldsIn = (copy: Copy) => new roots.request.Record(new RequestFields(request, source.pieces, copy));
  return new RuleView(source, fieldsIn(new Copy(false)), () => fieldsIn(new Copy(true)));
};

/** The view of a sample. */
export const requestView = (request: RequestText, owner: RequestOwner): RuleView => {
  const { system, messages, metadata, tools = [] } = request;
  const toolNames = tools.map(({ name }) => name);
  const body = (): Buffer => Buffer.from(jsonText({ system, messages, metadata }));
  const pieces = normalizedOnce(() => ({ ...piecesIn({ ...request, form: 'messages', body: body() }), toolNames }));
  return viewFrom(request, { raw: null, pieces, owner, answer: null });
};

export const responseView = (ofRequest: RuleView, response: ResponseText): RuleView => ofRequest.answered(response);

/** The view of a body. A large one is read where the rules are evaluated. */
export const bodyView = (raw: RawBody, owner: RequestOwner): RuleView => {
  const pieces = normalizedOnce(() => piecesIn(raw));
  const isLarge = raw.body.length > maxParsedOnLoop;
  return viewFrom(raw, { raw: isLarge ? raw : null, pieces, owner, answer: null });
};

export const viewOf = ({ request, response, owner }: Subject): RuleView => {
  const pieces = normalizedOnce(() => ('body' in request ? piecesIn(request) : request));
  return viewFrom(request, { raw: null, pieces, owner, answer: response && (() => response) });
};

/** Undefined where the view does not have the group. */
export const readField = (view: TextView, root: RootName, field: string): unknown =>
  (view.variables[root]?.values as Readonly<Record<string, unknown>> | undefined)?.[field];

/** Whether any of these fields differs between the copies. */
export const differs = (view: RuleView, reads: Iterable<string>): boolean => {
  for (const path of reads) {
    let known = view.differing.get(path);
    if (known === undefined) {
      const [root, field] = pathIn(path);
      known = isOther(readField(view, root, field), readField(view.folded, root, field));
      view.differing.set(path, known);
    }
    if (known) return true;
  }
  return false;
};

const paths = new Map<string, readonly [RootName, string]>();

const pathIn = (path: string): readonly [RootName, string] => {
  let known = paths.get(path);
  if (known === undefined) {
    known = path.split('.') as [RootName, string];
    paths.set(path, known);
  }
  return known;
};

const isOther = (one: unknown, other: unknown): boolean => {
  if (Array.isArray(one)) return one.some((item, at) => isOther(textIn(item), textIn((other as unknown[])[at])));
  if (one instanceof Map) return isOther([...one].flat(), [...(other as Map<string, string>)].flat());
  return one !== other;
};

const textIn = (item: unknown): unknown => {
  if (typeof item === 'string') return item;
  const values = (item as MessageRecord | ToolCallRecord).values;
  return 'text' in values ? values.text : [values.name, values.arguments];
};
