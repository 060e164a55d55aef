import { isRefusal, type Refusal } from '../../errors.ts';
import type { Cut } from '../../http/route.ts';
import { edited } from '../../json/edits.ts';
import type { RequestText } from '../../rules/text/request-text.ts';
import type { TokenNeed } from '../account/counts.ts';
import { imagesOf, pricesImages } from '../questions/images.ts';
import { searchesBy } from '../questions/searches.ts';
import { mostTurns } from '../questions/served-tools.ts';
import type { ConnectedModel } from '../upstream/connect.ts';
import type { GenerateRequest, WrittenRequest } from '../upstream/port.ts';
import { webSearchIn } from '../upstream/web-search.ts';
import type { PlaceOf } from './in-place.ts';

/** What goes to the upstream: the client's own bytes with edits, a request in Weir's own form, or one that a thread has written. */
export type Sent =
  | {
      readonly body: Buffer;
      /** Whether only Weir asked for the stream's usage. */
      readonly hidesUsage: boolean;
      /** Whether only Weir asked for encrypted reasoning. */
      readonly addsReasoning: boolean;
      readonly choices?: number | undefined;
    }
  | {
      readonly request: GenerateRequest;
      /** For policies: the request has only what the upstream gets. */
      readonly metadata: RequestText['metadata'];
    }
  | {
      readonly written: WrittenRequest['written'];
      /** JSON in the form of messages, for policies. */
      readonly text: Buffer;
    };

/** What the client asked for. @typeParam Said what the answer takes from the request */
export interface Asked<Said> {
  /** As the client wrote it: an id or an alias (contract A.4). */
  readonly model: string;
  readonly isStreamed: boolean;
  /** Policies by their ids. */
  readonly named: readonly string[];
  readonly said: Said;
  /** Of a request in another API's form; null if no longer known. */
  readonly placeOf?: PlaceOf | null | undefined;
}

/** A request that has been read. Plain data but for `placeOf`, which no thread hands over. */
export interface Prepared<Said> extends Asked<Said>, TokenNeed {
  /** Of the model whose rules it was read by; undefined if the caller sees none of that name. */
  readonly modelId: string | undefined;
  /** Upper bounds. */
  readonly images: number;
  readonly searches: number;
  /** By the model's rules, for after its policies (contract F.2). */
  readonly refusal: Refusal | null;
  /** Null if it is refused, or its model is unknown. */
  readonly sent: Sent | null;
}

/** A valid request for a translated model. */
export interface Judged extends TokenNeed {
  readonly request: GenerateRequest;
  readonly metadata: RequestText['metadata'];
}

const nothing = { estimatedTokens: 0, maxTokens: 0, images: 0, searches: 0, sent: null };

/** @param judge by the model's rules */
export const preparedStrictly = <Said>(
  asked: Asked<Said>,
  hosted: ConnectedModel | undefined,
  judge: (hosted: ConnectedModel) => Judged | Refusal,
): Prepared<Said> => {
  if (hosted === undefined) return { ...asked, ...nothing, modelId: undefined, refusal: null };
  const { id: modelId } = hosted.model;
  const judged = judge(hosted);
  if (isRefusal(judged)) return { ...asked, ...nothing, modelId, refusal: judged };
  const { request, metadata, estimatedTokens, maxTokens, grows = false, longest = maxTokens, cut } = judged;
  const { model, isStreamed, named, said, placeOf } = asked;
  const { system, messages } = request;
  const images = pricesImages(hosted.model)
    ? messages.reduce((sum, { content }) => sum + imagesOf(content), imagesOf(system))
    : 0;
  const search = webSearchIn(request.tools);
  // Member by member, because a spread is slow.
  return {
    model,
    modelId,
    isStreamed,
    named,
    said,
    placeOf,
    estimatedTokens,
    maxTokens,
    grows,
    longest,
    cut,
    turns: search === undefined ? 1 : mostTurns,
    images,
    searches: search === undefined ? 0 : searchesBy(hosted.model, search),
    refusal: null,
    sent: { request, metadata },
  };
};

/** Without the request, which may be large. */
export const needOf = ({
  estimatedTokens,
  maxTokens,
  grows = false,
  longest = maxTokens,
  turns = 1,
}: TokenNeed): TokenNeed => ({
  estimatedTokens,
  maxTokens,
  grows,
  longest,
  turns,
});

/** For an upstream that translates. */
export const translatedRequest = (
  sent: Exclude<Sent, { body: unknown }>,
  { upstreamModel: model }: ConnectedModel,
): GenerateRequest | WrittenRequest => ('request' in sent ? sent.request : { model, written: sent.written });

/** @param most tokens of each answer */
export const cutNeed = (need: TokenNeed, { answers }: Cut, most: number): TokenNeed => ({
  ...needOf(need),
  longest: most * answers,
});

const openBrace = 0x7b;

/** The request with a maximum, where it has none (contract M.8). @param most tokens of each answer */
export const withMaximum = (sent: Sent, { member }: Cut, most: number): Sent => {
  if ('request' in sent) return { ...sent, request: { ...sent.request, max_tokens: most } };
  if (!('body' in sent)) return sent;
  const start = sent.body.indexOf(openBrace) + 1;
  const body = edited(sent.body, [{ start, end: start, text: `${JSON.stringify(member)}:${most},` }]);
  return { ...sent, body };
};
