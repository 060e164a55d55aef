import type { Api } from '../../apis.ts';
import type { Millis } from '../../clock.ts';
import { failure } from '../../http/error-envelopes.ts';
import type { Family, Reply } from '../../http/route.ts';
import { jsonText } from '../../json/exact-number.ts';
import type { RawBody } from '../../rules/text/request-text.ts';
import { bodyView, type RuleView } from '../../rules/text/view.ts';
import { holdsAnswer, looksBack, ownerOf, type PolicyCaller, type PolicyGuard, type ToJudge } from '../policy/guard.ts';
import type { KeptRequest } from '../policy/kept-requests.ts';
import type { Outcome } from '../policy/outcome.ts';
import type { AnswerJudge } from '../reply/answer-judge.ts';
import type { Admitted } from './admission.ts';
import type { Prepared, Sent } from './prepared.ts';

/** All that the upstream gets, as JSON in the form of an API. */
const bodyOf = (asked: Prepared<unknown>, { hosted, sent }: Admitted, endpoint: Api): RawBody => {
  const { isStreamed: stream, estimatedTokens: inputTokens, maxTokens: named, grows } = asked;
  // An upstream without a named maximum gets the model's, or none, which is the same.
  const { id: model, max_output_length: longest } = hosted.model;
  const maxTokens = grows === true ? Math.max(named, longest) : named;
  // What is not in the client's API any more is in the form of messages.
  const form = 'body' in sent ? endpoint : 'messages';
  return { endpoint, model, stream, inputTokens, maxTokens, body: bytesOf(sent), form };
};

const bytesOf = (sent: Sent): Buffer => {
  if ('body' in sent) return sent.body;
  return 'text' in sent ? sent.text : Buffer.from(jsonText({ ...sent.request, metadata: sent.metadata }));
};

/** For replays, with the text. */
export const copyOf = (
  asked: Prepared<unknown>,
  admitted: Admitted,
  endpoint: Api,
  { caller, requestId, at }: { readonly caller: PolicyCaller; readonly requestId: string; readonly at: Millis },
): KeptRequest => {
  return { requestId, at, owner: ownerOf(caller), body: bodyOf(asked, admitted, endpoint) };
};

/** As rules see it. */
export const viewOf = (asked: Prepared<unknown>, admitted: Admitted, endpoint: Api, caller: PolicyCaller): RuleView =>
  bodyView(bodyOf(asked, admitted, endpoint), ownerOf(caller));

/** For rules on answers only. */
const withoutText = (endpoint: Api, caller: PolicyCaller): RuleView =>
  bodyView({ endpoint, model: '', maxTokens: 0, inputTokens: 0, stream: false, body: noBody }, ownerOf(caller));
const noBody = Buffer.from('{}');

/** Null without response policies, or where the answer has no text. Holds only what it needs of the request. */
const watchOf = (guard: PolicyGuard, asked: ToJudge, endpoint: Api): AnswerJudge | null => {
  const { policies, caller, named, requestId } = asked;
  if (policies.response.length === 0 || endpoint === 'embeddings') return null;
  const view = looksBack(policies) ? asked.view : withoutText(endpoint, caller);
  const kept = { policies, caller, named, requestId, view };
  return {
    endpoint,
    holds: holdsAnswer(policies),
    isNamed: policies.response.some(({ id }) => named.includes(id)),
    judge: (answer) => guard.judgeAnswer(kept, answer),
  };
};

const withHeaders = (reply: Reply, headers: Readonly<Record<string, string>>): Reply => ({
  ...reply,
  headers: { ...reply.headers, ...headers },
});

/** Before anything of the request leaves the gateway (contract G.8). Usually synchronous. */
export const policed = (
  guard: PolicyGuard,
  asked: ToJudge,
  { endpoint, family }: { readonly endpoint: Api; readonly family: Family },
  answered: (watch: AnswerJudge | null) => Reply | Promise<Reply>,
): Reply | Promise<Reply> => {
  const go = ({ refused, headers }: Outcome): Reply | Promise<Reply> => {
    if (refused !== null) return failure(refused, family, asked.requestId);
    const reply = answered(watchOf(guard, asked, endpoint));
    if (Object.keys(headers).length === 0) return reply;
    return reply instanceof Promise ? reply.then((made) => withHeaders(made, headers)) : withHeaders(reply, headers);
  };
  if (asked.policies.request.length === 0) return go(nothing);
  const outcome = guard.judge(asked);
  return outcome instanceof Promise ? outcome.then(go) : go(outcome);
};

const nothing: Outcome = { refused: null, headers: {}, decisions: [] };
