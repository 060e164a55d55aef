import { jsonText } from '../../../json/exact-number.ts';
import type { ReachedOpenai } from '../models/model-schema.ts';
import type {
  Answer,
  Chunk,
  GenerateOptions,
  GenerateRequest,
  Inexpressible,
  Upstream,
  WrittenRequest,
} from '../port.ts';
import { type StreamReader, streamedAnswer, textOf, wholeAnswer } from '../transport/answers.ts';
import { Endpoint, type EndpointDependencies, type Outgoing, type OwnHeaders } from '../transport/endpoint.ts';
import { bodyIn } from '../transport/written.ts';
import { AddedReasoning } from './added-reasoning.ts';
import { ChatChunkReader } from './chat-chunks.ts';
import { readCompletion } from './chat-completion.ts';
import type { CallId } from './chat-message.ts';
import { chatRequest } from './chat-request.ts';
import { inexpressible, inexpressibleInResponses } from './inexpressible.ts';
import { passingChat } from './passing-chat.ts';
import { passingEmbeddings } from './passing-embeddings.ts';
import { passingResponses } from './passing-responses.ts';
import { readResponse } from './responses-answer.ts';
import { ResponseEventReader } from './responses-events.ts';
import { leastOutput, responsesRequest } from './responses-request.ts';

export interface OpenaiDependencies extends EndpointDependencies {
  /** Bounds reported counts. */
  readonly mostTokens: number;
  /** Whether the model is declared to reason. */
  readonly thinks: boolean;
}

/** From the form of messages into an API, and back. */
interface Translator {
  readonly path: string;
  readonly inexpressible: (request: GenerateRequest) => Inexpressible | null;
  request(request: GenerateRequest, stream: boolean): object;
  answer(text: string, callId: CallId): Answer;
  events(callId: CallId): StreamReader<Chunk>;
}

const throughChat = (declared: ReachedOpenai, { mostTokens, thinks }: OpenaiDependencies): Translator => ({
  path: '/v1/chat/completions',
  inexpressible,
  request: (request, stream) => chatRequest(request, stream, { maxTokensName: declared.max_tokens_name, thinks }),
  answer: (text, callId) => readCompletion(text, mostTokens, callId),
  events: (callId) => new ChatChunkReader(mostTokens, callId),
});

const throughResponses = ({ mostTokens, thinks }: OpenaiDependencies): Translator => ({
  path: '/v1/responses',
  inexpressible: inexpressibleInResponses,
  request: (request, stream) => responsesRequest(request, stream, thinks),
  answer: (text, callId) => readResponse(text, mostTokens, callId),
  events: (callId) => new ResponseEventReader(mostTokens, callId),
});

export const openaiUpstream = (declared: ReachedOpenai, dependencies: OpenaiDependencies): Upstream => {
  const endpoint = new Endpoint(declared, ownHeaders, dependencies);
  const isOfResponses = declared.apis.includes('responses') && !declared.apis.includes('chat');
  const translator = isOfResponses ? throughResponses(dependencies) : throughChat(declared, dependencies);
  const bodyOf = (request: GenerateRequest, stream: boolean): Buffer =>
    Buffer.from(jsonText(translator.request(request, stream)));
  const outgoing = (request: GenerateRequest | WrittenRequest, stream: boolean) => ({
    path: translator.path,
    isTranslated: true,
    body: bodyIn(request) ?? bodyOf(request as GenerateRequest, stream),
  });
  const reasoning = new AddedReasoning();
  const asking = (
    request: GenerateRequest | WrittenRequest,
    stream: boolean,
    options: GenerateOptions,
  ): readonly [Outgoing, GenerateOptions] => {
    const asked = outgoing(request, stream);
    return isOfResponses && dependencies.thinks ? reasoning.asking(asked, options) : [asked, options];
  };
  return {
    inexpressible: translator.inexpressible,
    ...(isOfResponses && { leastTokens: leastOutput }),
    answer: (request, options) =>
      wholeAnswer(endpoint, ...asking(request, false, options), (document) =>
        translator.answer(textOf(document), callIds(options)),
      ),
    stream: (request, options) =>
      streamedAnswer(endpoint, ...asking(request, true, options), translator.events(callIds(options))),
    // The API does not count.
    written: (request, purpose) =>
      purpose === 'count' ? [null] : [{ body: bodyOf(request as GenerateRequest, purpose === 'stream') }],
    passing: {
      ...(declared.apis.includes('chat') && {
        chat: { ...passingChat(endpoint), maximum: declared.max_tokens_name },
      }),
      ...(declared.apis.includes('responses') && { responses: passingResponses(endpoint, reasoning) }),
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
