import { jsonText } from '../../../json/exact-number.ts';
import type { ReachedOpenai } from '../models/model-schema.ts';
import type { GenerateOptions, GenerateRequest, Upstream, WrittenRequest } from '../port.ts';
import { streamedAnswer, textOf, wholeAnswer } from '../transport/answers.ts';
import { Endpoint, type EndpointDependencies, type OwnHeaders } from '../transport/endpoint.ts';
import { bodyIn } from '../transport/written.ts';
import { ChatChunkReader } from './chat-chunks.ts';
import { readCompletion } from './chat-completion.ts';
import type { CallId } from './chat-message.ts';
import { type ChatDialect, chatRequest } from './chat-request.ts';
import { inexpressible } from './inexpressible.ts';
import { passingChat } from './passing-chat.ts';
import { passingEmbeddings } from './passing-embeddings.ts';
import { passingResponses } from './passing-responses.ts';

export interface OpenaiDependencies extends EndpointDependencies {
  readonly contextLength: number;
  /** Whether the model is declared to reason. */
  readonly thinks: boolean;
}

const path = '/v1/chat/completions';

export const openaiUpstream = (declared: ReachedOpenai, dependencies: OpenaiDependencies): Upstream => {
  const endpoint = new Endpoint(declared, ownHeaders, dependencies);
  const { contextLength, thinks } = dependencies;
  const dialect: ChatDialect = { maxTokensName: declared.max_tokens_name, thinks };
  const bodyOf = (request: GenerateRequest, stream: boolean): Buffer =>
    Buffer.from(jsonText(chatRequest(request, stream, dialect)));
  const outgoing = (request: GenerateRequest | WrittenRequest, stream: boolean) => ({
    path,
    isTranslated: true,
    body: bodyIn(request) ?? bodyOf(request as GenerateRequest, stream),
  });
  return {
    inexpressible,
    answer: (request, options) =>
      wholeAnswer(endpoint, outgoing(request, false), options, (document) =>
        readCompletion(textOf(document), contextLength, callIds(options)),
      ),
    stream: (request, options) =>
      streamedAnswer(endpoint, outgoing(request, true), options, new ChatChunkReader(contextLength, callIds(options))),
    // The API does not count.
    written: (request, purpose) =>
      purpose === 'count' ? [null] : [{ body: bodyOf(request as GenerateRequest, purpose === 'stream') }],
    passing: {
      ...(declared.apis.includes('chat') && { chat: passingChat(endpoint) }),
      ...(declared.apis.includes('responses') && { responses: passingResponses(endpoint) }),
      ...(declared.apis.includes('embeddings') && { embeddings: passingEmbeddings(endpoint) }),
    },
    close: () => endpoint.close(),
  };
};

/** OpenAI's name of the request id: some servers refuse an `x-request-id` that is no UUID. */
const ownHeaders: OwnHeaders = {
  requestId: 'x-client-request-id',
  credential: (apiKey) => {
    const key = apiKey.reveal();
    return key === '' ? {} : { authorization: `Bearer ${key}` };
  },
};

const callIds =
  ({ requestId }: GenerateOptions): CallId =>
  (index) =>
    `call_${requestId.replace(/^req_/, '')}_${index}`;
