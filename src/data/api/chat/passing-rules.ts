import type { StateNames } from '../../request/state-references.ts';
import type { Answers } from '../../request/task.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { unnamedMaximum } from '../translation/translated-task.ts';
import type { PassingChatBody } from './passing-schema.ts';

export interface PassedChat {
  readonly model: string;
  readonly stream: boolean;
  readonly policy_ids: readonly string[] | null | undefined;
  readonly includeUsage: boolean;
}

/** All answers count, also those that `best_of` discards, and failed predictions (contract F.4). */
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

/** Added to requests that do not ask for usage: Weir must know it. */
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
