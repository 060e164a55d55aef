import type { ConnectedModel } from '../../upstream/connect.ts';
import type { StateNames } from '../route/state-references.ts';
import { unnamedMaximum } from '../translation/translated-task.ts';
import type { PassingChatBody } from './passing-schema.ts';

/** What Weir itself reads of a body that passes. */
export interface PassedChat {
  readonly model: string;
  readonly stream: boolean;
  readonly policy_ids: readonly string[] | null | undefined;
  readonly includeUsage: boolean;
}

/** What is reserved for the answers: each of them counts; one whose length nobody bounds grows beyond it (contract F.4). */
export const answersOf = (
  {
    max_completion_tokens: most,
    max_tokens: old,
    n,
  }: Pick<PassingChatBody, 'max_completion_tokens' | 'max_tokens' | 'n'>,
  { model }: ConnectedModel,
): { readonly maxTokens: number; readonly grows: boolean } => {
  const named = Math.max(most ?? 0, old ?? 0);
  const each = named || Math.min(unnamedMaximum, model.max_output_length);
  return { maxTokens: each * (n ?? 1), grows: named === 0 };
};

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
  anywhere: ['file_id', 'file_ids', 'vector_store_ids', 'skill_id'],
  ownData: ['text', 'arguments', 'parameters', 'schema', 'metadata', 'file_data', 'data', 'logit_bias'],
};
