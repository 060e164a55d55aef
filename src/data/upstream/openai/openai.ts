import { jsonText } from '../../../json/exact-number.ts';
import type { ReachedOpenai } from '../models/model-schema.ts';
import type {
  Answer,
  Chunk,
  GenerateOptions,
  GenerateRequest,
  Inexpressible,
  Upstream,
  WrittenBody,
  WrittenRequest,
} from '../port.ts';
import { answerNamed, chunksNamed, ToolNames } from '../tool-names.ts';
import { type StreamReader, streamedAnswer, textOf, wholeAnswer } from '../transport/answers.ts';
import { Endpoint, type EndpointDependencies, type Outgoing, type OwnHeaders } from '../transport/endpoint.ts';
import { isWritten, writtenIn } from '../transport/written.ts';
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
  request(request: GenerateRequest, stream: boolean, names: ToolNames): object;
  answer(text: string, callId: CallId): Answer;
  events(callId: CallId): StreamReader<Chunk>;
}

const throughChat = (declared: ReachedOpenai, { mostTokens, thinks }: OpenaiDependencies): Translator => ({
  path: '/v1/chat/completions',
  inexpressible,
  request: (request, stream, names) =>
    chatRequest(request, stream, { maxTokensName: declared.max_tokens_name, thinks }, names),
  answer: (text, callId) => readCompletion(text, mostTokens, callId),
  events: (callId) => new ChatChunkReader(mostTokens, callId),
});

const throughResponses = ({ mostTokens, thinks }: OpenaiDependencies): Translator => ({
  path: '/v1/responses',
  inexpressible: inexpressibleInResponses,
  request: (request, stream, names) => responsesRequest(request, stream, thinks, names),
  answer: (text, callId) => readResponse(text, mostTokens, callId),
  events: (callId) => new ResponseEventReader(mostTokens, callId),
});

export const openaiUpstream = (declared: ReachedOpenai, dependencies: OpenaiDependencies): Upstream => {
  const endpoint = new Endpoint(declared, ownHeaders, dependencies);
  const isOfResponses = declared.apis.includes('responses') && !declared.apis.includes('chat');
  const translator = isOfResponses ? throughResponses(dependencies) : throughChat(declared, dependencies);
  const written = (request: GenerateRequest, stream: boolean): WrittenBody<Buffer> => {
    const names = new ToolNames(request.tools);
    const body = Buffer.from(jsonText(translator.request(request, stream, names)));
    return { body, toolNames: names.own };
  };
  const reasoning = new AddedReasoning();
  const asking = (request: GenerateRequest | WrittenRequest, stream: boolean, options: GenerateOptions) => {
    const { body, toolNames } = isWritten(request) ? writtenIn(request) : written(request, stream);
    const asked: Outgoing = { path: translator.path, isTranslated: true, body };
    const [outgoing, own] = isOfResponses && dependencies.thinks ? reasoning.asking(asked, options) : [asked, options];
    return { outgoing, own, toolNames };
  };
  return {
    inexpressible: translator.inexpressible,
    ...(isOfResponses && { leastTokens: leastOutput }),
    answer: (request, options) => {
      const { outgoing, own, toolNames } = asking(request, false, options);
      return wholeAnswer(endpoint, outgoing, own, (document) =>
        answerNamed(translator.answer(textOf(document), callIds(options)), toolNames),
      );
    },
    stream: (request, options) => {
      const { outgoing, own, toolNames } = asking(request, true, options);
      return chunksNamed(streamedAnswer(endpoint, outgoing, own, translator.events(callIds(options))), toolNames);
    },
    // The API does not count.
    written: (request, purpose) =>
      purpose === 'count' ? [null] : [written(request as GenerateRequest, purpose === 'stream')],
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
