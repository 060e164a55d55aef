import type { ConnectedModel } from '../../upstream/connect.ts';
import type { StateNames } from '../route/state-references.ts';
import type { Answers } from '../route/task.ts';
import { unnamedMaximum } from '../translation/translated-task.ts';
import type { PassingChatBody } from './passing-schema.ts';

/** What Weir itself reads of a body that passes. */
export interface PassedChat {
  readonly model: string;
  readonly stream: boolean;
  readonly policy_ids: readonly string[] | null | undefined;
  readonly includeUsage: boolean;
}

/**
 * What is reserved for the answers: each of them counts, also one of which only the best is told; those whose length nobody bounds
 * grow beyond it (contract F.4). Text that is predicted is charged as part of the answer where it does not come true.
 */
export const answersOf = (
  { max_completion_tokens: most, max_tokens: old, n, best_of: drafts }: Bounds,
  predictedTokens: number,
  { model }: ConnectedModel,
): Answers => {
  const named = Math.max(most ?? 0, old ?? 0);
  const count = Math.max(n ?? 1, drafts ?? 1);
  const all = (each: number): number => each * count + predictedTokens;
  return {
    maxTokens: all(named || Math.min(unnamedMaximum, model.max_output_length)),
    grows: named === 0,
    longest: all(named || model.max_output_length),
  };
};

type Bounds = Pick<PassingChatBody, 'max_completion_tokens' | 'max_tokens' | 'n' | 'best_of'>;

/** A request that asks for no usage of its stream asks the upstream for it all the same: what is used has to be known. */
export const usageAsked = { whole: '"stream_options":{"include_usage":true},', options: '{"include_usage":true}' };

export const chatState: StateNames = {
  members: {
    previous_response_id: 'null',
    conversation: 'null',
    prompt: 'null',
    container: 'null',
    background: 'false',
    store: 'false',
  },
  anywhere: ['file_id', 'file_ids', 'vector_store_ids', 'skill_id', 'tunnel_id', 'comparison_response_id'],
  ownData: ['text', 'arguments', 'parameters', 'schema', 'metadata', 'file_data', 'data', 'logit_bias'],
};
