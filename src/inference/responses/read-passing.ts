import type { Refusal } from '../../errors.ts';
import { checker } from '../../http/endpoint.ts';
import { Refused } from '../../http/refused.ts';
import { type Edit, outerMembers } from '../../json/outer-members.ts';
import { estimateResponseTokens } from '../../upstream/responses-estimate.ts';
import type { PassingRules } from '../route/body-reader.ts';
import { type StateNames, stateRefusal, stateRefused } from '../route/state-references.ts';
import { unnamedMaximum } from '../translation/translated-task.ts';
import { type PassingResponsesBody, passingResponsesBody } from './passing-schema.ts';

/** What Weir itself reads of a body that passes. */
export interface PassedResponses {
  readonly model: string;
  readonly stream: boolean;
  readonly policy_ids: readonly string[] | null | undefined;
}

const state: StateNames = {
  members: {
    previous_response_id: 'null',
    conversation: 'null',
    prompt: 'null',
    container: 'null',
    background: 'false',
    store: 'false',
  },
  anywhere: ['file_id', 'file_ids', 'vector_store_ids', 'container_id'],
  ownData: ['text', 'arguments', 'parameters', 'schema', 'metadata', 'file_data', 'data'],
};

/** Items of earlier answers by their ids, and containers of tools by theirs. */
const namedRefusal = ({ input, tools }: PassingResponsesBody): Refusal | null => {
  const item = typeof input === 'string' ? -1 : input.findIndex(({ type }) => type === 'item_reference');
  if (item !== -1) return stateRefused(['input', item]);
  const tool = tools?.findIndex(({ container }) => typeof container === 'string') ?? -1;
  return tool === -1 ? null : stateRefused(['tools', tool, 'container']);
};

const loosely = checker(passingResponsesBody, 'chat', 'body');

/** Reads bodies of responses for models that pass them on. */
export const passingResponses: PassingRules<PassedResponses> = {
  passing: (upstream) => upstream.passing?.responses,
  quick: () => null,
  loose: (value, { model }, bytes) => {
    const checked = loosely(value);
    if (checked instanceof Refused) return checked;
    const body = checked as PassingResponsesBody;
    const isDedicated = model.dedicated_to !== undefined;
    const refusal = isDedicated ? null : (stateRefusal(body, state) ?? namedRefusal(body));
    if (refusal !== null) return new Refused(refusal);
    const { max_output_tokens: most } = body;
    return {
      fields: { model: body.model, stream: body.stream === true, policy_ids: body.policy_ids },
      estimatedTokens: estimateResponseTokens(value),
      maxTokens: most ?? Math.min(unnamedMaximum, model.max_output_length),
      grows: most == null,
      edits: isDedicated || body.store === false ? [] : [unstored(bytes)],
    };
  },
};

/** A provider keeps an answer unless it is told not to, for an account that is not the caller's. */
const unstored = (bytes: Buffer): Edit => {
  const member = outerMembers(bytes).get('store');
  if (member !== undefined) return { start: member.valueStart, end: member.end, text: 'false' };
  const start = bytes.indexOf('{') + 1;
  return { start, end: start, text: '"store":false,' };
};
