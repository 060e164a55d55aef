import { jsonText } from '../../json/exact-number.ts';
import { maxParsedOnLoop } from '../language/limits.ts';
import {
  type RequestValues,
  type ResponseValues,
  type RootName,
  roots,
  type TypedRecord,
} from '../language/variables.ts';
import { type ResponsePieces, responsePiecesOf } from './answer-pieces.ts';
import { piecesIn, type RequestPieces } from './body-text.ts';
import { lazily } from './lazy.ts';
import { answerLength, lengthOf } from './lengths.ts';
import { Copy, normalizedOnce } from './normal-text.ts';
import type { Beside, RawBody, RequestOwner, RequestText, ResponseText } from './request-text.ts';
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

/** The groups of variables; rarely used ones are made when read. */
const Variables = lazily<
  {
    readonly request: RequestRecord;
    readonly response: TypedRecord<ResponseValues> | undefined;
    readonly owner: RequestOwner;
    readonly copy: Copy;
  },
  { readonly [name in RootName]: TypedRecord<unknown> | undefined }
>({
  request: ({ request }) => request,
  response: ({ response }) => response,
  project: ({ owner: { project }, copy }) => new roots.project.Record({ id: project.id, name: copy.one(project.name) }),
  key: ({ owner: { key }, copy }) => new roots.key.Record({ id: key.id, name: copy.one(key.name) }),
  org: ({ owner: { org } }) => new roots.org.Record({ id: org.id, tier: BigInt(org.tier) }),
});

class CopyView implements TextView {
  readonly request: RequestRecord;
  readonly variables: TextView['variables'];
  #sizes: Map<string, number> | undefined;

  constructor({ answer, owner }: Source, request: RequestRecord, copy: Copy) {
    const response = answer && new roots.response.Record(new ResponseFields({ pieces: answer, copy }));
    this.request = request;
    this.variables = new Variables({ request, response, owner, copy });
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
  readonly answer: (() => ResponsePieces) | undefined;
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
    super(source, request, new Copy(false));
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
    return answer === undefined ? request : request + answerLength(answer());
  }

  /** The same request with its answer; texts that were read are kept. */
  answered(response: ResponseText): RuleView {
    const answer = normalizedOnce(() => responsePiecesOf(response));
    const folded = () => this.#foldedView().request;
    const { raw, pieces, owner } = this.#source;
    return new RuleView({ raw, pieces, answer, owner }, this.request, folded);
  }

  #foldedView(): CopyView {
    this.#folded ??= new CopyView(this.#source, this.#foldedRequest(), new Copy(true));
    return this.#folded;
  }
}

const viewFrom = (request: Beside, source: Source): RuleView => {
  const fieldsIn = (copy: Copy) =>
    new roots.request.Record(new RequestFields({ request, pieces: source.pieces, copy }));
  return new RuleView(source, fieldsIn(new Copy(false)), () => fieldsIn(new Copy(true)));
};

/** The view of a sample. */
export const requestView = (request: RequestText, owner: RequestOwner): RuleView => {
  const { system, messages, metadata, tools = [] } = request;
  const toolNames = tools.map(({ name }) => name);
  const body = (): Buffer => Buffer.from(jsonText({ system, messages, metadata }));
  const pieces = normalizedOnce(() => ({ ...piecesIn({ ...request, form: 'messages', body: body() }), toolNames }));
  return viewFrom(request, { raw: null, pieces, owner, answer: undefined });
};

export const responseView = (ofRequest: RuleView, response: ResponseText): RuleView => ofRequest.answered(response);

/** The view of a body. A large one is read where the rules are evaluated. */
export const bodyView = (raw: RawBody, owner: RequestOwner): RuleView => {
  const pieces = normalizedOnce(() => piecesIn(raw));
  const isLarge = raw.body.length > maxParsedOnLoop;
  return viewFrom(raw, { raw: isLarge ? raw : null, pieces, owner, answer: undefined });
};

export const viewOf = ({ request, response, owner }: Subject): RuleView => {
  const pieces = normalizedOnce(() => ('body' in request ? piecesIn(request) : request));
  return viewFrom(request, { raw: null, pieces, owner, answer: response === null ? undefined : () => response });
};
