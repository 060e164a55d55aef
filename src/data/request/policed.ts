import type { Millis } from '../../clock.ts';
import { failure } from '../../http/error-envelopes.ts';
import type { Family, Reply } from '../../http/route.ts';
import { jsonText } from '../../json/exact-number.ts';
import { type Beside, bodyText } from '../../rules/text/body-text.ts';
import type { RequestText } from '../../rules/text/request-text.ts';
import { bodyView, type RawBody, type RuleView, requestView } from '../../rules/text/view.ts';
import { holdsAnswer, type Judged, looksBack, ownerOf, type PolicyCaller, type PolicyGuard } from '../policy/guard.ts';
import type { KeptRequest } from '../policy/kept-requests.ts';
import type { Outcome } from '../policy/outcome.ts';
import type { AnswerWatch } from '../reply/answer-watch.ts';
import type { Admitted } from './admission.ts';
import type { Prepared, Sent } from './prepared.ts';

type Endpoint = RequestText['endpoint'];

const besideOf = (asked: Prepared<unknown>, { hosted }: Admitted, endpoint: Endpoint): Beside => {
  const { model, isStreamed: stream, estimatedTokens: inputTokens, maxTokens: named, grows } = asked;
  // An upstream without a named maximum gets the model's, or none, which is the same.
  const maxTokens = grows === true ? Math.max(named, hosted.model.max_output_length) : named;
  return { endpoint, model, stream, inputTokens, maxTokens };
};

const inMessages = (sent: Extract<Sent, { request: unknown }>): object => ({
  ...sent.request,
  metadata: sent.metadata,
});

/** The body as JSON, and the API in whose form it is. */
const rawOf = (sent: Sent, endpoint: Endpoint): Pick<RawBody, 'body' | 'form'> => {
  if ('body' in sent) return { body: sent.body, form: endpoint };
  return { body: 'text' in sent ? sent.text : Buffer.from(jsonText(inMessages(sent))), form: 'messages' };
};

/** For replays, with the text. */
export const copyOf = (
  asked: Prepared<unknown>,
  admitted: Admitted,
  endpoint: Endpoint,
  { caller, requestId, at }: { readonly caller: PolicyCaller; readonly requestId: string; readonly at: Millis },
): KeptRequest => {
  const raw = rawOf(admitted.sent, endpoint);
  return { requestId, at, owner: ownerOf(caller), body: { ...besideOf(asked, admitted, endpoint), ...raw } };
};

/** As rules see it: all that the upstream gets. */
export const viewOf = (
  asked: Prepared<unknown>,
  admitted: Admitted,
  endpoint: Endpoint,
  caller: PolicyCaller,
): RuleView => {
  const { sent } = admitted;
  const beside = besideOf(asked, admitted, endpoint);
  const owner = ownerOf(caller);
  if (!('request' in sent)) return bodyView({ ...beside, ...rawOf(sent, endpoint) }, owner);
  // Every API is in the form of messages by now; the endpoint's name stays.
  const text = bodyText({ ...inMessages(sent) }, { ...beside, endpoint: 'messages' });
  return requestView({ ...text, endpoint }, owner);
};

/** For rules on answers only. */
const withoutText = (endpoint: Endpoint, caller: PolicyCaller): RuleView =>
  requestView({ endpoint, model: '', maxTokens: 0, inputTokens: 0, stream: false, messages: [] }, ownerOf(caller));

/** Null without response policies. Holds only what it needs of the request. */
const watchOf = (guard: PolicyGuard, asked: Judged, endpoint: Endpoint): AnswerWatch | null => {
  const { policies, caller, named, requestId } = asked;
  if (policies.response.length === 0) return null;
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
  asked: Judged,
  { endpoint, family }: { readonly endpoint: Endpoint; readonly family: Family },
  answered: (watch: AnswerWatch | null) => Reply | Promise<Reply>,
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
