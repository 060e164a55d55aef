import { type Refusal, refusal } from '../../errors.ts';
import { Refused } from '../../http/refused.ts';
import { refusedFault, type ValueBudget, valueBudget } from '../../http/request/json.ts';
import { lentDocument as tape } from '../../json/document.ts';
import { named } from '../../json/names.ts';
import type { ConnectedModel } from '../upstream/connect.ts';
import { type Models, namedModel, type ServedTo } from './named-model.ts';
import { answersApi, isPassing, type PassingRules, passingReader } from './passing.ts';
import type { Prepared } from './prepared.ts';

type Value = Readonly<Record<string, unknown>>;

/** How one API's requests are read. @typeParam Said what its answers take from them */
export interface RequestRules<Said> {
  readonly passing: PassingRules<Said>;
  /** Of a translated model, or one that is not visible. @param budget values that JSON texts inside it may still have (contract A.3) */
  readonly strict: (value: Value, hosted: ConnectedModel | undefined, budget: ValueBudget) => Prepared<Said> | Refused;
}

/** Null if the request is too much for the event loop. */
export type Prepare<Said> = (bytes: Buffer, principal: ServedTo, where: Where) => Prepared<Said> | Refused | null;

interface Where {
  /** Bytes and values of a document that may be scanned. */
  readonly most: { readonly bytes: number; readonly values: number };
  /** Bytes of a document of which values may be made. */
  readonly mostParsed: number;
}

const { model } = named('model');

/** Measured: tiny values block the event loop for 20 ms at this size, 700 ms at 4 MiB (contract A.3). */
const mostParsedHere = 64 * 1024;
/** A body that passes is only scanned. More values would block the event loop as long as a larger body. */
const mostHere = { bytes: 1024 * 1024, values: 65_535 };
const all = { bytes: Number.POSITIVE_INFINITY, values: valueBudget().left };

export const here: Where = { most: mostHere, mostParsed: mostParsedHere };
export const anywhere: Where = { most: all, mostParsed: all.bytes };

const otherApi = (as: PassingRules<unknown>['as']): Refusal => {
  const message = as === 'embeddings' ? 'The model makes no embeddings.' : 'The model makes embeddings alone.';
  return refusal('unsupported_model', { message, param: 'model' });
};

/** By the model's rules (contract L.1). Invisible models get strict ones, so that they look missing. */
export const preparing = <Said>(models: Models, { passing, strict }: RequestRules<Said>): Prepare<Said> => {
  const readPassing = passingReader(passing);
  return (bytes, principal, { most, mostParsed }) => {
    if (bytes.length > most.bytes) return null;
    const mayParse = bytes.length <= mostParsed;
    const budget = { left: mayParse ? all.values : most.values };
    const fault = tape.fault(bytes, budget);
    if (fault !== null) return mayParse ? refusedFault(fault) : null;
    const name = tape.string(tape.member(0, model));
    const hosted = name === undefined ? undefined : namedModel(models, name, principal);
    if (hosted !== undefined && !answersApi(hosted, passing.as)) return new Refused(otherApi(passing.as));
    if (hosted !== undefined && isPassing(hosted, passing.as))
      return readPassing({ tape, bytes, name: name!, hosted, principal, mayParse });
    return mayParse ? strict(tape.exactValue() as Value, hosted, budget) : null;
  };
};
