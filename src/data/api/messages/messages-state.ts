import { type Refusal, refusal } from '../../../errors.ts';
import { type StateNames, stateRefusal } from '../../request/state-references.ts';
import type { PassingCount } from './passing-schema.ts';

const names: StateNames = {
  members: { container: 'null' },
  anywhere: ['file_id'],
  ownData: ['input', 'text', 'data', 'thinking', 'input_schema', 'input_examples', 'schema', 'metadata'],
};

export const messagesState = ['thread', ...Object.keys(names.members)];

/** State that the upstream keeps (contract L.1). */
export const messagesStateRefusal = (body: PassingCount): Refusal | null =>
  body.thread != null ? refusal('thread_unsupported_request', { param: 'thread' }) : stateRefusal(body, names);
