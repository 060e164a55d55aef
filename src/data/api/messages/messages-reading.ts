import type { Models } from '../../request/named-model.ts';
import type { Reading } from '../../request/reading.ts';
import type { MessagesPassing } from '../../upstream/port.ts';
import { type MessagesBody, messagesBody } from './messages-schema.ts';
import { passingBody } from './passing-schema.ts';
import { messagesReader, type PassedFields } from './read-messages.ts';
import { strictTask } from './strict-task.ts';

export type MessagesRest = Pick<MessagesBody, 'model' | 'stream' | 'policy_ids' | 'context_management'>;

export const messagesReading = (
  models: Models,
): Reading<MessagesRest, MessagesBody, PassedFields, MessagesPassing> => ({
  reader: messagesReader(models, { strict: messagesBody, passing: passingBody, needsMaxTokens: true }),
  judge: strictTask,
  rest: ({ model, stream, policy_ids, context_management: managed }) => ({
    model,
    stream,
    policy_ids,
    context_management: managed == null ? null : {},
  }),
});
