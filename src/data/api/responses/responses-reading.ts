import { bodyReader } from '../../request/body-reader.ts';
import type { Models } from '../../request/named-model.ts';
import type { Reading } from '../../request/reading.ts';
import {
  judgeTranslated,
  restOfTranslated,
  type TranslatedInput,
  type TranslatedRest,
  translatingReader,
} from '../translation/translated-task.ts';
import type { PassedResponses } from './passing-rules.ts';
import { passingResponses } from './read-passing.ts';
import { type Repeated, repeatedOf } from './response-text.ts';
import { type ResponsesBody, responsesBody } from './responses-schema.ts';
import { responsesToMessages } from './responses-to-messages.ts';

interface Said {
  readonly repeated: Repeated;
  readonly asSummary: boolean;
}
type ResponsesInput = TranslatedInput & Said;
export type ResponsesRest = TranslatedRest & Said;

export const responsesReading = (models: Models): Reading<ResponsesRest, ResponsesInput, PassedResponses> => ({
  reader: bodyReader(models, {
    strict: translatingReader({
      schema: responsesBody,
      translate: responsesToMessages,
      maximumOf: ({ max_output_tokens: most }) => most,
      extra: (request: ResponsesBody) => ({
        repeated: repeatedOf(request),
        asSummary: request.reasoning?.summary != null,
      }),
    }),
    passed: passingResponses,
  }),
  judge: judgeTranslated,
  rest: (input) => ({ ...restOfTranslated(input), repeated: input.repeated, asSummary: input.asSummary }),
});
