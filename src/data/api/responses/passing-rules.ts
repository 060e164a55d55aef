import type { StateNames } from '../../request/state-references.ts';
import type { Answers } from '../../request/task.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { unnamedMaximum } from '../translation/translated-task.ts';

export interface PassedResponses {
  readonly model: string;
  readonly stream: boolean;
  readonly policy_ids: readonly string[] | null | undefined;
}

export const responsesState: StateNames = {
  members: {
    previous_response_id: 'null',
    conversation: 'null',
    prompt: 'null',
    container: 'null',
    background: 'false',
    store: 'false',
  },
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
    container: (value) => typeof value === 'string',
    // Only without a credential of the caller.
    connector_id: (_, { authorization }) => authorization == null || authorization === '',
  },
  ownData: ['text', 'arguments', 'parameters', 'schema', 'metadata', 'file_data', 'data'],
};

/** Unbounded answers grow beyond it (contract F.4). */
export const answerOf = (most: number | null | undefined, { model }: ConnectedModel): Answers => ({
  maxTokens: most ?? Math.min(unnamedMaximum, model.max_output_length),
  grows: most == null,
  longest: most ?? model.max_output_length,
});

/** Added if the request does not say it. */
export const unstoredMember = '"store":false,';
