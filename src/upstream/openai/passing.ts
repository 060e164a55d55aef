import type { Passing } from '../port.ts';
import { type PassedReader, passedAnswer, textOf, wholeAnswer } from '../transport/answers.ts';
import type { Endpoint } from '../transport/endpoint.ts';
import { parsedJson, within } from '../transport/fields.ts';
import type { OwnDocument, OwnNames } from '../transport/own-names.ts';
import { accountFailure } from '../transport/upstream-errors.ts';
import { PassedChunkReader } from './passed-chunks.ts';
import { ownCompletion, ownResponse } from './passed-document.ts';
import { PassedResponseReader } from './passed-response-events.ts';

/** One API of an endpoint. */
interface Api {
  readonly path: string;
  readonly whole: (document: Buffer, own: OwnNames) => OwnDocument;
  readonly reader: (own: OwnNames, hidesUsage: boolean) => PassedReader;
}

/** Bytes pass, and only usage is read (contract L.1). */
const passing = (endpoint: Endpoint, { path, whole, reader }: Api): Passing => ({
  answer: ({ body, headers, id, model }, options) =>
    wholeAnswer(endpoint, { path, body, headers }, options, (bytes) => {
      const { document, usage, outputBytes } = whole(bytes, { id, model });
      return { body: document, usage, outputBytes };
    }),
  stream: ({ body, headers, id, model, hidesUsage }, options) =>
    passedAnswer(endpoint, { path, body, headers }, options, reader({ id, model }, hidesUsage === true)),
});

/** The chat completions of an endpoint for clients that speak them. */
export const passingChat = (endpoint: Endpoint): Passing =>
  passing(endpoint, {
    path: '/v1/chat/completions',
    whole: ownCompletion,
    reader: (own, hidesUsage) => new PassedChunkReader(own, hidesUsage),
  });

/** What went wrong is told in the upstream's own words, unless that is about the operator's account. @throws UpstreamError */
const failedIn = (document: Buffer, { hide }: Endpoint): Buffer => {
  const text = hide(textOf(document));
  const response = parsedJson(text, 'the answer');
  const failure = within(response).status === 'failed' ? accountFailure(response) : null;
  if (failure !== null) throw failure;
  return Buffer.from(text);
};

/** The responses of an endpoint, likewise. */
export const passingResponses = (endpoint: Endpoint): Passing =>
  passing(endpoint, {
    path: '/v1/responses',
    whole: (document, own) => ownResponse(document.includes('"failed"') ? failedIn(document, endpoint) : document, own),
    reader: (own) => new PassedResponseReader(own, endpoint.hide),
  });
