import type { Refusal } from '../../errors.ts';
import { Refused } from '../../http/refused.ts';
import { parseJson, type ValueBudget, valueBudget } from '../../http/request/json.ts';
import type { Metered } from '../../http/route.ts';
import { type Edit, edited, outerMembers, withoutMember } from '../../json/outer-members.ts';
import { Kind, type Tape, lentTape as tape } from '../../json/tape/tape.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import type { Passing, Upstream } from '../../upstream/port.ts';
import { isServedTo } from '../models/model-requirements.ts';
import { pricedImages, pricedImagesOnTape } from './images.ts';
import { mayNameOthers, otherModelsRefusal } from './other-models.ts';
import { searchesAllowed, searchesAllowedOnTape } from './searches.ts';
import { hasPlainNames, spellingRefusal } from './spelling.ts';
import type { LargeTask, TokenNeed } from './task.ts';

/** A JSON object with exact numbers, as `parseJson` reads it. */
type Json = Exclude<ReturnType<typeof parseJson>, Refused>;

/** What the body of every API of models names alike. */
export interface Asked {
  readonly model: string;
  readonly stream?: boolean | null | undefined;
  readonly policy_ids?: readonly string[] | null | undefined;
}

/** A body that goes to its upstream as it is. */
export interface PassedBody<Fields, P extends Passing = Passing> extends TokenNeed {
  readonly passing: P;
  /** What Weir itself reads of it. */
  readonly fields: Fields;
  /** Whether the usage of its stream is asked of the upstream by Weir alone. */
  readonly hidesUsage: boolean;
  /** Images that have a price. */
  readonly images: number;
  /** Searches that the upstream may make itself. */
  readonly searches: number;
  /** As it goes out: with the upstream's name of the model, and without what Weir alone understands. */
  readonly bytes: () => Buffer;
}

/** What a body has been read as: for a model that passes it on, or for all others. */
export type ReadBody<Strict, Fields, P extends Passing = Passing> =
  | { readonly strict: Strict; readonly passed: null; readonly judged?: LargeTask | Refusal }
  | { readonly strict: null; readonly passed: PassedBody<Fields, P> };

export const askedOf = <Strict extends Asked, Fields extends Asked>(body: ReadBody<Strict, Fields>): Asked =>
  body.passed === null ? body.strict : body.passed.fields;

interface ReadFields<Fields> extends TokenNeed {
  readonly fields: Fields;
  /** What else Weir changes of the bytes, in any order. */
  readonly edits?: readonly Edit[];
  /** Whether one of them has the upstream tell the usage of a stream that the client does not want to hear. */
  readonly hidesUsage?: boolean;
}

/** A body of which the event loop reads no more than this; a copy, for the core lends its memory for one step alone. */
export interface LargeBody {
  readonly large: Buffer;
}

/** What was read without parsing; where the name of the model stands in the bytes, its quotes included. */
export interface QuickFields<Fields> extends ReadFields<Fields> {
  readonly modelStart: number;
  readonly modelEnd: number;
}

/** How one API reads its bodies. */
export interface BodyRules<Strict, Fields, P extends Passing> {
  /** @param budget what is left of the values that a request may have, for documents inside of it (contract A.3) */
  readonly strict: (value: Json, budget: ValueBudget) => Strict | Refused;
  readonly passed: PassingRules<Fields, P>;
}

/** A model whose upstream takes requests of an API as they are. */
interface PassingModel<P extends Passing> extends ConnectedModel {
  readonly passing: P;
}

/** How one API reads bodies that go to their upstream as they are. */
export interface PassingRules<Fields, P extends Passing = Passing> {
  /** Whose members they are: those of other APIs mean nothing. */
  readonly api: Metered['api'];
  /** How the upstream passes requests of this API on, if it does. */
  readonly passing: (upstream: Upstream) => P | undefined;
  /** Members that Weir reads or refuses. */
  readonly names: readonly string[];
  /** Null for a body that has to be parsed. */
  readonly quick: (tape: Tape, bytes: Buffer, model: string, hosted: ConnectedModel) => QuickFields<Fields> | null;
  readonly loose: (value: Json, hosted: ConnectedModel, bytes: Buffer) => ReadFields<Fields> | Refused;
}

/** Whom the models of a request have to be there for. */
export type ServedTo = Parameters<typeof isServedTo>[1];

export interface BodyReader<Strict, Fields, P extends Passing = Passing> {
  /** A body that passes without being parsed; null for one that has to be. */
  readonly quick: (bytes: Buffer, principal: ServedTo) => PassedBody<Fields, P> | null;
  readonly whole: (bytes: Buffer, principal: ServedTo) => ReadBody<Strict, Fields, P> | Refused;
  /** How the upstream of a model passes requests of the API on, if it does. */
  readonly passing: (upstream: Upstream) => P | undefined;
}

/**
 * A longer body that does not pass unparsed is read in a thread: one of tiny values takes the event loop up to 20 ms at this size,
 * and one of 4 MiB up to 700 (contract A.3).
 */
const mostReadHere = 64 * 1024;

/** Reads a body as far as the event loop may. @param threads whether there are any for large bodies */
export const readHere =
  <Strict, Fields, P extends Passing>({ quick, whole }: BodyReader<Strict, Fields, P>, threads: boolean) =>
  (bytes: Buffer, principal: ServedTo): ReadBody<Strict, Fields, P> | LargeBody | Refused => {
    const passed = quick(bytes, principal);
    if (passed !== null) return { strict: null, passed };
    return threads && bytes.length > mostReadHere ? { large: Buffer.from(bytes) } : whole(bytes, principal);
  };

/**
 * Reads the bodies of one API: which rules hold depends on the model that they name (contract L.1). A model that the
 * caller does not have is judged by the rules of strict ones, so that nothing tells it from one that does not exist.
 */
export const bodyReader = <Strict, Fields, P extends Passing = Passing>(
  models: ReadonlyMap<string, ConnectedModel>,
  { strict: strictly, passed: rules }: BodyRules<Strict, Fields, P>,
): BodyReader<Strict, Fields, P> => {
  const readStrictly = (value: Json, budget: ValueBudget): ReadBody<Strict, Fields, P> | Refused => {
    const strict = strictly(value, budget);
    return strict instanceof Refused ? strict : { strict, passed: null };
  };
  const { api } = rules;
  const spelling = spellingRefusal(rules.names);
  /** Of each model that was asked for, with the way to pass on to it. */
  const passingModels = new WeakMap<ConnectedModel, PassingModel<P> | null>();
  const passingOf = (hosted: ConnectedModel): PassingModel<P> | null => {
    let known = passingModels.get(hosted);
    if (known === undefined) {
      const passing = hosted.model.passthrough ? rules.passing(hosted.upstream) : undefined;
      known = passing === undefined ? null : { ...hosted, passing };
      passingModels.set(hosted, known);
    }
    return known;
  };
  /** The model of that name, where it passes requests of the caller on. */
  const passingModel = (name: unknown, principal: ServedTo): PassingModel<P> | null => {
    const hosted = typeof name === 'string' ? models.get(name) : undefined;
    return hosted !== undefined && isServedTo(hosted.model, principal) ? passingOf(hosted) : null;
  };

  /** Most bodies are passed on without being parsed; null for one that has to be. */
  const readQuickly = (bytes: Buffer, principal: ServedTo): PassedBody<Fields, P> | null => {
    if (!tape.scan(bytes)) return null;
    const name = quickModel(tape);
    const hosted = passingModel(name, principal);
    if (principal.allowedModels !== null && mayNameOthers(tape, bytes)) return null;
    const quick = hosted && hasPlainNames(tape, 0) && rules.quick(tape, bytes, name!, hosted);
    if (!quick) return null;
    const {
      fields,
      estimatedTokens,
      maxTokens,
      grows = false,
      longest = maxTokens,
      turns = 1,
      edits,
      hidesUsage = false,
      modelStart: start,
      modelEnd: end,
    } = quick;
    const { passing, upstreamModel } = hosted;
    const outgoing = () => edited(bytes, inOrder([{ start, end, text: JSON.stringify(upstreamModel) }], edits));
    const images = pricedImagesOnTape(hosted.model, api, tape);
    const searches = searchesAllowedOnTape(hosted.model, api, tape);
    if (Number.isNaN(images)) return null;
    // Each member by its name: spread, it took eight microseconds.
    return {
      estimatedTokens,
      maxTokens,
      grows,
      longest,
      turns,
      passing,
      fields,
      hidesUsage,
      images,
      searches,
      bytes: outgoing,
    };
  };

  const readWhole = (bytes: Buffer, principal: ServedTo): ReadBody<Strict, Fields, P> | Refused => {
    const budget = valueBudget();
    const value = parseJson(bytes, budget);
    if (value instanceof Refused) return value;
    const hosted = passingModel(value.model, principal);
    if (hosted === null) return readStrictly(value, budget);
    const misspelt = spelling(value);
    if (misspelt !== null) return new Refused(misspelt);
    const others = principal.allowedModels === null ? null : otherModelsRefusal(value);
    if (others !== null) return new Refused(others);
    const read = rules.loose(value, hosted, bytes);
    if (read instanceof Refused) return read;
    const { edits, hidesUsage = false, ...rest } = read;
    const outgoing = () => withoutOwnFields(bytes, hosted.upstreamModel, edits);
    const images = pricedImages(hosted.model, api, value);
    const searches = searchesAllowed(hosted.model, api, value);
    return {
      strict: null,
      passed: { ...rest, passing: hosted.passing, hidesUsage, images, searches, bytes: outgoing },
    };
  };

  return { quick: readQuickly, whole: readWhole, passing: rules.passing };
};

const model = Buffer.from('model');

/** The name of the model that a scanned body asks for, where it says so in a plain way. */
export const quickModel = (scanned: Tape): string | null => {
  if (scanned.kind(0) !== Kind.object) return null;
  const entry = scanned.member(0, model);
  return entry !== -1 && scanned.kind(entry) === Kind.string ? (scanned.value(entry) as string) : null;
};

const withoutOwnFields = (bytes: Buffer, name: string, edits: readonly Edit[] | undefined): Buffer => {
  const members = outerMembers(bytes);
  const named = members.get('model')!;
  const policies = members.get('policy_ids');
  const own: Edit[] = [{ start: named.valueStart, end: named.end, text: JSON.stringify(name) }];
  if (policies !== undefined) own.push(withoutMember(bytes, policies));
  return edited(bytes, inOrder(own, edits));
};

const inOrder = (own: readonly Edit[], others: readonly Edit[] = []): readonly Edit[] =>
  [...own, ...others].sort((one, other) => one.start - other.start);
