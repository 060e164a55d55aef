import { type Document, Kind } from '../../../json/document.ts';
import type { Edit } from '../../../json/edits.ts';
import { named, nameSet } from '../../../json/names.ts';
import { keptMembers, stateFinder } from '../../questions/kept-state.ts';
import { mostTurns } from '../../questions/served-tools.ts';
import type { PassingRules } from '../../request/passing.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { leastOutput } from '../../upstream/openai/responses-request.ts';
import { unnamedMaximum } from '../translation/translated-task.ts';
import type { CalledNames } from './namespaces.ts';
import { passingResponsesBody } from './passing-schema.ts';
import type { Repeated } from './response-text.ts';
import { walkResponse } from './walk.ts';

/** What an answer takes from its request. */
export interface ResponsesSaid {
  /** Null for an upstream that repeats it itself. */
  readonly repeated: Repeated | null;
  readonly asSummary: boolean;
  /** Of functions in namespaces; empty where the upstream knows these. */
  readonly searches: boolean;
  readonly called: CalledNames;
}

const { input, store, include, max_output_tokens: most } = named('input', 'store', 'include', 'max_output_tokens');
const encrypted = Buffer.from('reasoning.encrypted_content');
const {
  type,
  id,
  reasoning,
  item_reference: reference,
  text,
} = named('type', 'id', 'reasoning', 'item_reference', 'text');
const authorization = Buffer.from('authorization');

const stateIn = stateFinder({
  members: keptMembers,
  anywhere: [
    'file_id',
    'file_ids',
    'vector_store_ids',
    'container_id',
    'skill_id',
    'tunnel_id',
    'comparison_response_id',
  ],
  // Items can bring tools.
  somewhere: {
    container: (tape, name) => tape.is(name + 1, Kind.string),
    // Only without a credential of the caller.
    connector_id: (tape, name) => {
      const credential = tape.member(tape.parent(name), authorization);
      return !tape.isGiven(credential) || tape.string(credential) === '';
    },
  },
  ownData: ['text', 'arguments', 'parameters', 'schema', 'metadata', 'client_metadata', 'file_data', 'data'],
});

/** Not content: an upstream that keeps the item needs only its id. */
const isLabel = nameSet(['id', 'type', 'status']);
/** A summary is no content: the model needs all reasoning. */
const isThought = nameSet(['encrypted_content', 'content']);

/** Also a list of parts that have no text. */
const isEmpty = (tape: Document, value: number): boolean => {
  if (!tape.isGiven(value)) return true;
  if (tape.is(value, Kind.string)) return tape.string(value) === '';
  if (tape.is(value, Kind.object)) return tape.member(value, text) !== -1 && isEmpty(tape, tape.member(value, text));
  return tape.is(value, Kind.array) && tape.firstItem(value, (item) => (isEmpty(tape, item) ? -1 : item)) === -1;
};

/** Only an id refers to an earlier answer. */
const isReference = (tape: Document, item: number): boolean => {
  const tag = tape.member(item, type);
  if (tape.says(tag, reference)) return true;
  if (!tape.isGiven(tape.member(item, id))) return false;
  const isReasoning = tape.says(tag, reasoning);
  const said = tape.firstMember(item, (name) => {
    const isContent = isReasoning ? isThought(tape, name) : !isLabel(tape, name);
    return isContent && !isEmpty(tape, name + 1) ? name : -1;
  });
  return said === -1;
};

const losesStore = (tape: Document, { model }: ConnectedModel): boolean =>
  model.dedicated_to === undefined && !tape.is(tape.member(0, store), Kind.false);

/** What is not stored has to come back with the next turn. */
const addsReasoning = (tape: Document, hosted: ConnectedModel): boolean => {
  if (!losesStore(tape, hosted) || !hosted.model.supported_features.includes('reasoning')) return false;
  const asked = tape.member(0, include);
  // The upstream judges what is no list.
  if (tape.isGiven(asked) && !tape.is(asked, Kind.array)) return false;
  return tape.firstItem(asked, (item) => (tape.says(item, encrypted) ? item : -1)) === -1;
};

const inclusion = (tape: Document): Edit => {
  const asked = tape.member(0, include);
  if (asked === -1) return tape.inserted(0, `"include":["${encrypted}"]`);
  return tape.is(asked, Kind.array) ? tape.inserted(asked, `"${encrypted}"`) : tape.replaced(asked, `["${encrypted}"]`);
};

const passed: ResponsesSaid = { repeated: null, asSummary: false, searches: false, called: new Map() };

export const passingResponses: PassingRules<ResponsesSaid> = {
  as: 'responses',
  family: 'chat',
  schema: passingResponsesBody,
  state: Object.keys(keptMembers),
  kept: (tape) => {
    const state = stateIn(tape);
    if (state !== -1) return state;
    return tape.firstItem(tape.member(0, input), (item) => (isReference(tape, item) ? item : -1));
  },
  conversation: [input],
  walk: walkResponse,
  // Unbounded answers grow beyond it (contract F.4).
  answer: (tape, { model: { max_output_length: longest } }) => {
    const given = tape.member(0, most);
    const maximum = tape.number(given);
    return {
      maxTokens: maximum ?? Math.min(unnamedMaximum, longest),
      grows: maximum === undefined,
      longest: maximum ?? longest,
      cut: given === -1 ? { member: 'max_output_tokens', answers: 1, least: leastOutput } : undefined,
    };
  },
  turns: ({ isServed }) => (isServed ? mostTurns : 1),
  // Providers store answers by default, in an account that is not the caller's.
  edits: (tape, hosted) => {
    if (!losesStore(tape, hosted)) return [];
    const said = tape.member(0, store);
    const stored = said === -1 ? tape.inserted(0, '"store":false') : tape.replaced(said, 'false');
    return addsReasoning(tape, hosted) ? [stored, inclusion(tape)] : [stored];
  },
  hidesUsage: () => false,
  addsReasoning,
  said: () => passed,
};
