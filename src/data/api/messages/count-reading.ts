import { metadataOf } from '../../../rules/text/body-text.ts';
import type { Models } from '../../request/named-model.ts';
import type { Reading } from '../../request/reading.ts';
import { estimateInputTokens } from '../../upstream/estimate.ts';
import type { GenerateRequest, MessagesPassing } from '../../upstream/port.ts';
import { countRequest } from './generate-request.ts';
import { modelRefusal } from './messages-model-rules.ts';
import { type MessagesCount, messagesCount } from './messages-schema.ts';
import { passingCount } from './passing-schema.ts';
import { messagesReader, type PassedCount } from './read-messages.ts';

export type CountRest = Pick<MessagesCount, 'model' | 'stream' | 'policy_ids'>;

/** A request without what only an answer needs. */
export const countReading = (models: Models): Reading<CountRest, MessagesCount, PassedCount, MessagesPassing> => ({
  reader: messagesReader(models, { strict: messagesCount, passing: passingCount, needsMaxTokens: false }),
  judge: (body, hosted) => {
    const refused = modelRefusal(body, hosted.model);
    if (refused !== null) return refused;
    const request = countRequest(body, hosted) as GenerateRequest;
    const { upstream } = hosted;
    const need = { estimatedTokens: estimateInputTokens(request), maxTokens: body.max_tokens ?? 0 };
    return { upstream, request, metadata: metadataOf(body), ...need };
  },
  rest: ({ model, stream, policy_ids }) => ({ model, stream, policy_ids }),
});
