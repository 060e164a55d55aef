import { jsonText } from '../../../json/exact-number.ts';
import type { ReachedAnthropic } from '../models/model-schema.ts';
import type { CountRequest, GenerateRequest, Upstream, WrittenRequest } from '../port.ts';
import { streamedAnswer, textOf, wholeAnswer } from '../transport/answers.ts';
import { Endpoint, type EndpointDependencies, type OwnHeaders } from '../transport/endpoint.ts';
import { isWritten, writtenIn } from '../transport/written.ts';
import { readMessage } from './anthropic-blocks.ts';
import { EventReader } from './anthropic-events.ts';
import { anthropicRequest } from './anthropic-request.ts';
import { openFormat } from './closed-schema.ts';
import { countTokens } from './count-tokens.ts';
import { passingMessages } from './passing.ts';

export interface AnthropicDependencies extends EndpointDependencies {
  /** Bounds reported counts. */
  readonly mostTokens: number;
}

const path = '/v1/messages';

export const anthropicUpstream = (declared: ReachedAnthropic, dependencies: AnthropicDependencies): Upstream => {
  const endpoint = new Endpoint(declared, ownHeaders, dependencies);
  const { mostTokens } = dependencies;
  return {
    asSent: anthropicRequest,
    inexpressible: ({ output_config: output }) => openFormat(output?.format),
    answer: (request, options) =>
      wholeAnswer(endpoint, { path, body: bodyOf(request, false) }, options, (document) =>
        readMessage(textOf(document), mostTokens),
      ),
    stream: (request, options) =>
      streamedAnswer(endpoint, { path, body: bodyOf(request, true) }, options, new EventReader(mostTokens)),
    countTokens: (request, options) => countTokens(endpoint, bodyOf(request), {}, options),
    written: (request, purpose) => [{ body: bodyOf(request, purpose === 'count' ? undefined : purpose === 'stream') }],
    passing: { messages: passingMessages(endpoint) },
    close: () => endpoint.close(),
  };
};

const ownHeaders: OwnHeaders = {
  requestId: 'x-request-id',
  credential: (apiKey) => ({ 'x-api-key': apiKey.reveal() }),
  usual: { 'anthropic-version': '2023-06-01' },
};

/** Kept outside the engine's heap while the upstream is silent. */
const bodyOf = (request: GenerateRequest | CountRequest | WrittenRequest, stream?: boolean): Buffer =>
  isWritten(request)
    ? writtenIn(request).body
    : Buffer.from(jsonText({ ...anthropicRequest(request as CountRequest), stream }));
