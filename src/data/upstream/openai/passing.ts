import type { Passing } from '../port.ts';
import { type PassedReader, passedAnswer, textOf, wholeAnswer } from '../transport/answers.ts';
import type { Endpoint } from '../transport/endpoint.ts';
import { parsedJson, within } from '../transport/fields.ts';
import type { OwnDocument, OwnNames } from '../transport/own-names.ts';
import { accountFailure } from '../transport/upstream-errors.ts';
import { PassedChunkReader } from './passed-chunks.ts';
import { ownCompletion, ownResponse } from './passed-document.ts';
import { PassedResponseReader } from './passed-response-events.ts';

interface Api {
  readonly path: string;
  readonly whole: (document: Buffer, own: OwnNames) => OwnDocument;
  readonly reader: (own: OwnNames, hidesUsage: boolean) => PassedReader;
}

const passing = (endpoint: Endpoint, { path, whole, reader }: Api): Passing => ({
  answer: ({ body, headers, id, model }, options) =>
    wholeAnswer(endpoint, { path, body, headers }, options, (bytes) => {
      const { document, usage, outputBytes } = whole(bytes, { id, model });
      return { body: document, usage, outputBytes };
    }),
  stream: ({ body, headers, id, model, hidesUsage }, options) =>
    passedAnswer(endpoint, { path, body, headers }, options, reader({ id, model }, hidesUsage === true)),
});

export const passingChat = (endpoint: Endpoint): Passing =>
  passing(endpoint, {
    path: '/v1/chat/completions',
    whole: ownCompletion,
    reader: (own, hidesUsage) => new PassedChunkReader(own, hidesUsage),
  });

/** Hides the operator's data in the upstream's message. @throws UpstreamError if it concerns the operator's account */
const failedIn = (document: Buffer, { hide }: Endpoint): Buffer => {
  const text = hide(textOf(document));
  const response = parsedJson(text, 'the answer');
  const failure = within(response).status === 'failed' ? accountFailure(response) : null;
  if (failure !== null) throw failure;
  return Buffer.from(text);
};

export const passingResponses = (endpoint: Endpoint): Passing =>
  passing(endpoint, {
    path: '/v1/responses',
    whole: (document, own) => ownResponse(document.includes('"failed"') ? failedIn(document, endpoint) : document, own),
    reader: (own) => new PassedResponseReader(own, endpoint.hide),
  });
