import type { Refusal } from '../../errors.ts';
import { Refused } from '../../http/refused.ts';
import { parseJson, type ValueBudget, valueBudget } from '../../http/request/json.ts';
import type { Metered } from '../../http/route.ts';
import { type Document, Kind, lentDocument as tape } from '../../json/document.ts';
import { type Edit, edited } from '../../json/edits.ts';
import type { TokenNeed } from '../account/counts.ts';
import type { ConnectedModel } from '../upstream/connect.ts';
import type { Passing, Upstream } from '../upstream/port.ts';
import { pricedImages, pricedImagesOnTape } from './images.ts';
import { type Models, namedModel, type ServedTo } from './named-model.ts';
import { mayNameOthers, otherModelsRefusal } from './other-models.ts';
import { searchesAllowed, searchesAllowedOnTape } from './searches.ts';
import { hasPlainNames, spellingRefusal } from './spelling.ts';
import type { LargeTask } from './task.ts';

type Json = Exclude<ReturnType<typeof parseJson>, Refused>;

export interface Asked {
  readonly model: string;
  readonly stream?: boolean | null | undefined;
  readonly policy_ids?: readonly string[] | null | undefined;
}

/** Sent to its upstream as it is. */
export interface PassedBody<Fields, P extends Passing = Passing> extends TokenNeed {
  readonly passing: P;
  readonly fields: Fields;
  /** Whether only Weir asked for the stream's usage. */
  readonly hidesUsage: boolean;
  readonly images: number;
  readonly searches: number;
  readonly bytes: () => Buffer;
}

export type ReadBody<Strict, Fields, P extends Passing = Passing> =
  | { readonly strict: Strict; readonly passed: null; readonly judged?: LargeTask | Refusal }
  | { readonly strict: null; readonly passed: PassedBody<Fields, P> };

export const askedOf = <Strict extends Asked, Fields extends Asked>(body: ReadBody<Strict, Fields>): Asked =>
  body.passed === null ? body.strict : body.passed.fields;

interface ReadFields<Fields> extends TokenNeed {
  readonly fields: Fields;
  /** Further changes, in any order. */
  readonly edits?: readonly Edit[];
  /** Whether an edit asks for usage that the client does not want. */
  readonly hidesUsage?: boolean;
}

/** Read in a thread; a copy, because uWebSockets lends its memory for one step. */
export interface LargeBody {
  readonly large: Buffer;
}

/** Fields read without parsing, and the model name's place, quotes included. */
export interface QuickFields<Fields> extends ReadFields<Fields> {
  readonly modelStart: number;
  readonly modelEnd: number;
}

export interface BodyRules<Strict, Fields, P extends Passing> {
  /** @param budget of values left for documents inside it (contract A.3) */
  readonly strict: (value: Json, budget: ValueBudget, hosted: ConnectedModel | undefined) => Strict | Refused;
  readonly passed: PassingRules<Fields, P>;
}

interface PassingModel<P extends Passing> extends ConnectedModel {
  readonly passing: P;
}

export interface PassingRules<Fields, P extends Passing = Passing> {
  /** Members of other APIs have no meaning. */
  readonly api: Metered['api'];
  readonly passing: (upstream: Upstream) => P | undefined;
  /** Read or refused by Weir. */
  readonly names: readonly string[];
  /** Null if the body must be parsed. */
  readonly quick: (tape: Document, bytes: Buffer, model: string, hosted: ConnectedModel) => QuickFields<Fields> | null;
  readonly loose: (value: Json, hosted: ConnectedModel, tape: Document) => ReadFields<Fields> | Refused;
}

export interface BodyReader<Strict, Fields, P extends Passing = Passing> {
  /** Null if the body must be parsed. */
  readonly quick: (bytes: Buffer, principal: ServedTo) => PassedBody<Fields, P> | null;
  readonly whole: (bytes: Buffer, principal: ServedTo) => ReadBody<Strict, Fields, P> | Refused;
  readonly passing: (upstream: Upstream) => P | undefined;
}

/** Measured: tiny values block the event loop for 20 ms at this size, 700 ms at 4 MiB (contract A.3). */
const mostReadHere = 64 * 1024;

/** Contract A.3: what passes through is read here up to this size. */
const mostQuickBytes = 1024 * 1024;
/** More would block the event loop as long as a larger body. */
const mostQuickValues = 65_535;

/** @param threads whether there are any for large bodies */
export const readHere =
  <Strict, Fields, P extends Passing>({ quick, whole }: BodyReader<Strict, Fields, P>, threads: boolean) =>
  (bytes: Buffer, principal: ServedTo): ReadBody<Strict, Fields, P> | LargeBody | Refused => {
    const passed = quick(bytes, principal);
    if (passed !== null) return { strict: null, passed };
    return threads && bytes.length > mostReadHere ? { large: Buffer.from(bytes) } : whole(bytes, principal);
  };

/** By the model's rules (contract L.1). Invisible models get strict ones, so that they look missing. */
export const bodyReader = <Strict, Fields, P extends Passing = Passing>(
  models: Models,
  { strict: strictly, passed: rules }: BodyRules<Strict, Fields, P>,
): BodyReader<Strict, Fields, P> => {
  const readStrictly = (
    value: Json,
    budget: ValueBudget,
    hosted: ConnectedModel | undefined,
  ): ReadBody<Strict, Fields, P> | Refused => {
    const strict = strictly(value, budget, hosted);
    return strict instanceof Refused ? strict : { strict, passed: null };
  };
  const { api } = rules;
  const spelling = spellingRefusal(rules.names);
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
  const modelOf = (name: unknown, principal: ServedTo): ConnectedModel | undefined =>
    typeof name === 'string' ? namedModel(models, name, principal) : undefined;

  /** Null if the body must be parsed. */
  const readQuickly = (bytes: Buffer, principal: ServedTo): PassedBody<Fields, P> | null => {
    if (bytes.length > mostQuickBytes || !tape.scan(bytes, mostQuickValues)) return null;
    const name = quickModel(tape);
    const found = modelOf(name, principal);
    const hosted = found && passingOf(found);
    if (principal.allowedModels !== null && mayNameOthers(tape, bytes)) return null;
    const quick = hosted && hasPlainNames(tape) && rules.quick(tape, bytes, name!, hosted);
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
    // Member by member: a spread took eight microseconds.
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
    const found = modelOf(value.model, principal);
    const hosted = found && passingOf(found);
    if (!hosted) return readStrictly(value, budget, found);
    const misspelt = spelling(value);
    if (misspelt !== null) return new Refused(misspelt);
    const others = principal.allowedModels === null ? null : otherModelsRefusal(value);
    if (others !== null) return new Refused(others);
    const read = rules.loose(value, hosted, tape);
    if (read instanceof Refused) return read;
    const { edits, hidesUsage = false, ...rest } = read;
    const all = inOrder(ownEdits(hosted.upstreamModel), edits);
    const outgoing = () => edited(bytes, all);
    const images = pricedImages(hosted.model, api, value);
    const searches = searchesAllowed(hosted.model, api, value);
    return {
      strict: null,
      passed: { ...rest, passing: hosted.passing, hidesUsage, images, searches, bytes: outgoing },
    };
  };

  return { quick: readQuickly, whole: readWhole, passing: rules.passing };
};

const [model, policies] = ['model', 'policy_ids'].map((name) => Buffer.from(name)) as [Buffer, Buffer];

/** Null unless written plainly. */
export const quickModel = (scanned: Document): string | null => {
  if (scanned.kind(0) !== Kind.object) return null;
  const entry = scanned.member(0, model);
  return entry !== -1 && scanned.kind(entry) === Kind.string ? (scanned.value(entry) as string) : null;
};

const ownEdits = (name: string): readonly Edit[] => {
  const named = tape.replaced(tape.member(0, model), JSON.stringify(name));
  const given = tape.member(0, policies);
  return given === -1 ? [named] : [named, tape.removed(given)];
};

const inOrder = (own: readonly Edit[], others: readonly Edit[] = []): readonly Edit[] =>
  [...own, ...others].sort((one, other) => one.start - other.start);
