import { type Refusal, refusal } from '../../errors.ts';
import { type Refused, refused } from '../refused.ts';
import { codePoints, decodePercent } from '../request/percent.ts';
import type { Method } from '../route.ts';

export interface Routable {
  readonly method: Method;
  readonly path: string;
}

/** By method. */
export interface RouteNode<R> {
  readonly methods: ReadonlyMap<string, R>;
  readonly allow: string;
  /** In path order; the last may take several segments. */
  readonly names: readonly string[];
  readonly rest: boolean;
}

export interface Match<R> {
  readonly place: RouteNode<R>;
  /** Undecoded, in the order of `place.names`. */
  readonly raw: readonly string[];
}

interface Node<R> {
  readonly literals: Map<string, Node<R>>;
  any?: Node<R>;
  rest?: RouteNode<R>;
  place?: RouteNode<R>;
}

/** In code points (contract A.3). */
const maxParameter = 200;
const noRaw: readonly string[] = Object.freeze([]);
const parameter = /^\{([A-Za-z_]+)(\*?)\}$/;

interface Draft<R> {
  readonly methods: Map<string, R>;
  readonly names: readonly string[];
  readonly rest: boolean;
}

/** GET implies HEAD (RFC 9110, 9.3.2); OPTIONS is always there. */
export const allowOf = (methods: Iterable<Method>): string => {
  const names = new Set<string>();
  for (const method of methods) {
    if (method === 'OPTIONS') continue;
    names.add(method);
    if (method === 'GET') names.add('HEAD');
  }
  return [...names, 'OPTIONS'].join(', ');
};

/** @param allow as `allowOf` writes it */
export const methodNotAllowed = (allow: string): Refusal => {
  const message = `The method is not allowed on this route, which takes ${allow}.`;
  return refusal('method_not_allowed', { message, headers: { Allow: allow } });
};

const newNode = <R>(): Node<R> => ({ literals: new Map() });

const namesOf = (path: string): { names: string[]; rest: boolean } => {
  const names: string[] = [];
  let rest = false;
  const segments = path.slice(1).split('/');
  for (const [at, segment] of segments.entries()) {
    const found = parameter.exec(segment);
    if (!found) {
      if (/[{}*]/.test(segment))
        throw new Error(`The route path ${path} has a segment that is not understood: ${segment}`);
      continue;
    }
    names.push(found[1]!);
    if (found[2] === '*') {
      if (at !== segments.length - 1) throw new Error(`The route path ${path} takes the rest before its end.`);
      rest = true;
    }
  }
  return { names, rest };
};

const insert = <R>(root: Node<R>, path: string, place: RouteNode<R>): void => {
  let node = root;
  for (const segment of path.slice(1).split('/')) {
    const found = parameter.exec(segment);
    if (found?.[2] === '*') {
      node.rest = place;
      return;
    }
    let next = found ? node.any : node.literals.get(segment);
    if (!next) {
      next = newNode();
      if (found) node.any = next;
      else node.literals.set(segment, next);
    }
    node = next;
  }
  node.place = place;
};

/** A literal segment wins over a parameter, a parameter over the rest. */
const find = <R>(node: Node<R>, path: string, from: number, raw: string[]): RouteNode<R> | undefined => {
  const slash = path.indexOf('/', from);
  const segment = slash === -1 ? path.slice(from) : path.slice(from, slash);
  const literal = node.literals.get(segment);
  if (literal) {
    const place = slash === -1 ? literal.place : find(literal, path, slash + 1, raw);
    if (place) return place;
  }
  if (segment !== '' && node.any) {
    raw.push(segment);
    const place = slash === -1 ? node.any.place : find(node.any, path, slash + 1, raw);
    if (place) return place;
    raw.pop();
  }
  if (segment !== '' && node.rest) {
    raw.push(path.slice(from));
    return node.rest;
  }
  return undefined;
};

/** Nothing is normalised: `//`, `/./` or another case is another path. @throws Error for a duplicate */
export const router = <R extends Routable>(routes: readonly R[]): ((path: string) => Match<R> | undefined) => {
  const drafts = new Map<string, Draft<R>>();
  for (const route of routes) {
    let draft = drafts.get(route.path);
    if (!draft) {
      draft = { methods: new Map(), ...namesOf(route.path) };
      drafts.set(route.path, draft);
    }
    if (draft.methods.has(route.method)) throw new Error(`Two routes answer ${route.method} ${route.path}.`);
    draft.methods.set(route.method, route);
  }
  const fixed = new Map<string, Match<R>>();
  const root = newNode<R>();
  for (const [path, draft] of drafts) {
    const place: RouteNode<R> = { ...draft, allow: allowOf([...draft.methods.values()].map(({ method }) => method)) };
    // HEAD.
    const read = draft.methods.get('GET');
    if (read) draft.methods.set('HEAD', read);
    if (place.names.length === 0) fixed.set(path, { place, raw: noRaw });
    else insert(root, path, place);
  }
  return (path) => {
    const exact = fixed.get(path);
    if (exact) return exact;
    const raw: string[] = [];
    const place = find(root, path, 1, raw);
    return place && { place, raw };
  };
};

/** Dot segments are refused, whatever a proxy makes of them. */
const isDotted = (segment: string): boolean => segment === '.' || segment === '..';

/**
 * Decodes once, strictly. Returns 400 invalid_request for invalid percent-encoding, a hidden slash or a dot segment;
 * 422 validation_failed for a length outside 1..200 (contract A.3).
 */
export const readParameters = (match: Match<unknown>): Readonly<Record<string, string>> | Refused => {
  const values: Record<string, string> = Object.create(null);
  const { names, rest } = match.place;
  for (const [i, name] of names.entries()) {
    const takesRest = rest && i === names.length - 1;
    const value = decodePercent(match.raw[i]!);
    const sound =
      value !== undefined && (takesRest ? !value.split('/').some(isDotted) : !value.includes('/') && !isDotted(value));
    if (!sound) {
      return refused('invalid_request', {
        param: name,
        message: `The path parameter ${name} is not soundly percent-encoded.`,
      });
    }
    if (codePoints(value) > maxParameter) {
      const message = `${name}: must have 1 to ${maxParameter} characters.`;
      const detail = { loc: ['path', name], msg: message, type: 'string_too_long', input: value, ctx: {} };
      return refused('validation_failed', { param: name, message, details: [detail] });
    }
    values[name] = value;
  }
  return values;
};
