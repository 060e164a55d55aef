import type { z } from 'zod';
import type { ProjectPrincipal } from '../../access/principal.ts';
import { checker } from '../../http/endpoint.ts';
import { Refused } from '../../http/refused.ts';
import { parseJson } from '../../http/request/json.ts';
import { type Edit, edited, outerMembers, withoutMember } from '../../json/outer-members.ts';
import { Tape } from '../../json/tape/tape.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { type Estimable, estimateInputTokens } from '../../upstream/estimate.ts';
import type { Passing } from '../../upstream/port.ts';
import { isServedTo } from '../models/model-requirements.ts';
import type { PassingBody, PassingCount } from './passing-schema.ts';
import { quickBody, quickModel } from './quick-passing.ts';
import { stateRefusal } from './state-references.ts';

/** What Weir itself reads of a body that passes. */
type Read = 'model' | 'stream' | 'context_management' | 'policy_ids';
export type PassedFields = Pick<PassingBody, Read | 'max_tokens'>;
export type PassedCount = Pick<PassingCount, Read | 'max_tokens'>;

/** A body that goes to its upstream as it is. */
export interface PassedBody<Fields> {
  readonly passing: Passing;
  readonly fields: Fields;
  /** Of the input (contract F.4). */
  readonly estimatedTokens: number;
  /** As it goes out: with the upstream's name of the model, and without what Weir alone understands. */
  readonly bytes: () => Buffer;
}

/** What a body has been read as: for a model that passes it on, or for all others. */
export type ReadBody<Strict, Fields> =
  | { readonly strict: Strict; readonly passed: null }
  | { readonly strict: null; readonly passed: PassedBody<Fields> };

/** The schemas of one route: for strict models, and for those that pass the body on. */
interface Schemas<Strict, Fields extends PassedCount> {
  readonly strict: z.ZodType<Strict>;
  readonly passing: z.ZodType<Fields & PassingCount>;
  readonly needsMaxTokens: boolean;
}

interface PassingModel extends ConnectedModel {
  readonly passing: Passing;
}

/** Of the body in hand; a request is read at once and to its end. */
const tape = new Tape();

/**
 * Reads bodies of the messages API: which rules hold depends on the model that they name (contract N1). A model that the
 * caller does not have is judged by the rules of strict ones, so that nothing tells it from one that does not exist.
 */
export const messagesReader = <Strict, Fields extends PassedCount>(
  models: ReadonlyMap<string, ConnectedModel>,
  schemas: Schemas<Strict, Fields>,
) => {
  const strictly = checker(schemas.strict, 'messages', 'body');
  const loosely = checker(schemas.passing, 'messages', 'body');

  /** The model of that name, where it passes requests of the caller on. */
  const passingModel = (name: unknown, principal: ProjectPrincipal): PassingModel | undefined => {
    const hosted = typeof name === 'string' ? models.get(name) : undefined;
    if (hosted === undefined || !hosted.model.passthrough || !isServedTo(hosted.model, principal)) return undefined;
    const { passing } = hosted.upstream;
    return passing && { ...hosted, passing };
  };

  /** Most bodies are passed on without being parsed; null for one that has to be. */
  const readQuickly = (bytes: Buffer, principal: ProjectPrincipal): PassedBody<Fields> | null => {
    if (!tape.scan(bytes)) return null;
    const name = quickModel(tape);
    const hosted = passingModel(name, principal);
    const quick = hosted && quickBody(tape, bytes, name!, schemas.needsMaxTokens);
    if (!quick) return null;
    const { fields, estimatedTokens, modelStart: start, modelEnd: end } = quick;
    return {
      passing: hosted.passing,
      fields: fields as PassedCount as Fields,
      estimatedTokens,
      bytes: () => edited(bytes, [{ start, end, text: JSON.stringify(hosted.upstreamModel) }]),
    };
  };

  const readByParsing = (bytes: Buffer, principal: ProjectPrincipal): ReadBody<Strict, Fields> | Refused => {
    const value = parseJson(bytes);
    if (value instanceof Refused) return value;
    const hosted = passingModel(value.model, principal);
    if (hosted === undefined) {
      const strict = strictly(value);
      return strict instanceof Refused ? strict : { strict: strict as Strict, passed: null };
    }
    const checked = loosely(value);
    if (checked instanceof Refused) return checked;
    const fields = checked as Fields & PassingCount;
    const refusal = hosted.model.dedicated_to === undefined ? stateRefusal(fields) : null;
    if (refusal !== null) return new Refused(refusal);
    const estimatedTokens = estimateInputTokens(fields as unknown as Estimable);
    const { passing } = hosted;
    const outgoing = () => withoutOwnFields(bytes, hosted.upstreamModel);
    return { strict: null, passed: { passing, fields, estimatedTokens, bytes: outgoing } };
  };

  return (bytes: Buffer, principal: ProjectPrincipal): ReadBody<Strict, Fields> | Refused => {
    const passed = readQuickly(bytes, principal);
    return passed === null ? readByParsing(bytes, principal) : { strict: null, passed };
  };
};

const withoutOwnFields = (bytes: Buffer, model: string): Buffer => {
  const members = outerMembers(bytes);
  const name = members.get('model')!;
  const edits: Edit[] = [{ start: name.valueStart, end: name.end, text: JSON.stringify(model) }];
  const policies = members.get('policy_ids');
  if (policies !== undefined) edits.push(withoutMember(bytes, policies));
  return edited(
    bytes,
    edits.sort((one, other) => one.start - other.start),
  );
};
