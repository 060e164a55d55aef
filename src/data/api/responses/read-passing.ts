import type { Refusal } from '../../../errors.ts';
import { Refused } from '../../../http/refused.ts';
import { checker } from '../../../http/routing/endpoint.ts';
import type { Document } from '../../../json/document.ts';
import type { Edit } from '../../../json/edits.ts';
import type { PassingRules } from '../../request/body-reader.ts';
import { toolsIn, turnsOf } from '../../request/served-tools.ts';
import { stateRefusal, stateRefused } from '../../request/state-references.ts';
import { estimateResponseTokens } from '../../upstream/responses-estimate.ts';
import { answerOf, type PassedResponses, responsesState, unstoredMember } from './passing-rules.ts';
import { type PassingResponsesBody, passingResponsesBody } from './passing-schema.ts';
import { quickResponsesBody } from './quick-passing.ts';

/** Not content: an upstream that keeps the item needs only its id. */
const labels = ['id', 'type', 'status'];
const isEmpty = (value: unknown): boolean => value == null || (Array.isArray(value) && value.length === 0);

/** Only an id refers to an earlier answer. A summary is no content: the model needs all reasoning. */
const isReference = (item: Readonly<Record<string, unknown>>): boolean => {
  if (item.type === 'item_reference') return true;
  if (item.id == null) return false;
  const said = item.type === 'reasoning' ? ['encrypted_content', 'content'] : Object.keys(item);
  return said.every((name) => labels.includes(name) || isEmpty(item[name]));
};

const itemRefusal = (body: PassingResponsesBody): Refusal | null => {
  const { input } = body;
  const item = typeof input === 'string' ? -1 : input.findIndex(isReference);
  return item === -1 ? null : stateRefused(body, ['input', item]);
};

const loosely = checker(passingResponsesBody, 'chat', 'body');

export const passingResponses: PassingRules<PassedResponses> = {
  api: 'responses',
  passing: (upstream) => upstream.passing?.responses,
  names: [...Object.keys(passingResponsesBody.shape), ...Object.keys(responsesState.members)],
  quick: quickResponsesBody,
  loose: (value, hosted, tape) => {
    const checked = loosely(value);
    if (checked instanceof Refused) return checked;
    const body = checked as PassingResponsesBody;
    const isDedicated = hosted.model.dedicated_to !== undefined;
    const refusal = isDedicated ? null : (stateRefusal(body, responsesState) ?? itemRefusal(body));
    if (refusal !== null) return new Refused(refusal);
    return {
      fields: { model: body.model, stream: body.stream === true, policy_ids: body.policy_ids },
      estimatedTokens: estimateResponseTokens(value),
      ...answerOf(body.max_output_tokens, hosted),
      turns: turnsOf(toolsIn(body)),
      edits: isDedicated || body.store === false ? [] : [unstored(tape)],
    };
  },
};

const storeName = Buffer.from('store');

/** Providers store answers by default, in an account that is not the caller's. */
const unstored = (tape: Document): Edit => {
  const given = tape.member(0, storeName);
  if (given !== -1) return tape.replaced(given, 'false');
  const start = tape.start(0) + 1;
  return { start, end: start, text: unstoredMember };
};
