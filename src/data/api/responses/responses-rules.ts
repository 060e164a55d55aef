import type { RequestRules } from '../../request/prepare.ts';
import { translatedRules } from '../translation/translated-task.ts';
import { flatTools } from './namespaces.ts';
import { passingResponses, type ResponsesSaid } from './passing-rules.ts';
import { repeatedOf } from './response-text.ts';
import { isSearchTool, responsesBody } from './responses-schema.ts';
import { responsesToMessages } from './responses-to-messages.ts';

export const responsesRules: RequestRules<ResponsesSaid> = {
  passing: passingResponses,
  strict: translatedRules({
    schema: responsesBody,
    translate: responsesToMessages,
    maximumOf: ({ max_output_tokens: most }) => most,
    said: (request) => ({
      repeated: repeatedOf(request),
      asSummary: request.reasoning?.summary != null,
      searches: request.tools?.some(isSearchTool) === true,
      called: flatTools(request.tools ?? []).called,
    }),
  }),
};
