import type { Millis } from '../../clock.ts';
import { failure } from '../../http/error-envelopes.ts';
import type { Family, Reply } from '../../http/route.ts';
import { jsonText } from '../../json/exact-number.ts';
import { type Beside, bodyText } from '../../rules/text/body-text.ts';
import type { RequestText } from '../../rules/text/request-text.ts';
import { bodyView, type RuleView, requestView } from '../../rules/text/view.ts';
import type { TokenNeed } from '../account/counts.ts';
import { holdsAnswer, type Judged, looksBack, ownerOf, type PolicyCaller, type PolicyGuard } from '../policy/guard.ts';
import type { KeptRequest } from '../policy/kept-requests.ts';
import type { Outcome } from '../policy/outcome.ts';
import type { AnswerWatch } from '../reply/answer-watch.ts';

export interface RequestSeen {
  readonly request: (object & { readonly max_tokens?: number | undefined }) | null;
  /** Of a request written by a thread: the upstream's maximum, if it gets one. */
  readonly writtenMost?: number | null;
  readonly need: TokenNeed;
  readonly most: number;
}

type Told = Pick<RequestText, 'endpoint' | 'model' | 'stream'>;

const besideOf = ({ request, need, most, writtenMost }: RequestSeen, told: Told): Beside => {
  const { estimatedTokens: inputTokens, maxTokens: named, grows } = need;
  // An upstream without a named maximum gets the model's, or none, which is the same.
  const maxTokens = grows === true ? Math.max(named, request?.max_tokens ?? writtenMost ?? most) : named;
  const { endpoint, model, stream } = told;
  return { endpoint, model, stream, inputTokens, maxTokens };
};

/** Whether the body is still in the client's API. */
const isTheirs = ({ request, writtenMost }: RequestSeen): boolean => request === null && writtenMost === undefined;

/** For replays, with the text. */
export const copyOf = (
  seen: RequestSeen,
  outgoing: () => Buffer,
  told: Told,
  { caller, requestId, at }: { readonly caller: PolicyCaller; readonly requestId: string; readonly at: Millis },
): KeptRequest => {
  const body = seen.request === null ? Buffer.from(outgoing()) : Buffer.from(jsonText(seen.request));
  const form = isTheirs(seen) ? told.endpoint : 'messages';
  return { requestId, at, owner: ownerOf(caller), body: { ...besideOf(seen, told), body, form } };
};

/** As rules see it: all that the upstream gets. @param outgoing a passing body */
export const viewOf = (seen: RequestSeen, outgoing: () => Buffer, text: Told, caller: PolicyCaller): RuleView => {
  const { request } = seen;
  const beside = besideOf(seen, text);
  const owner = ownerOf(caller);
  if (request === null) {
    const { endpoint, model, maxTokens, inputTokens, stream } = beside;
    const form = isTheirs(seen) ? endpoint : 'messages';
    return bodyView({ endpoint, model, maxTokens, inputTokens, stream, body: outgoing(), form }, owner);
  }
  // Every API is in the form of messages by now; the endpoint's name stays.
  const inMessages = bodyText({ ...request }, { ...beside, endpoint: 'messages' });
  return requestView({ ...inMessages, endpoint: text.endpoint }, owner);
};

/** For rules on answers only. */
const withoutText = (endpoint: RequestText['endpoint'], caller: PolicyCaller): RuleView =>
  requestView({ endpoint, model: '', maxTokens: 0, inputTokens: 0, stream: false, messages: [] }, ownerOf(caller));

/** Null without response policies. Holds only what it needs of the request. */
const watchOf = (guard: PolicyGuard, asked: Judged, endpoint: RequestText['endpoint']): AnswerWatch | null => {
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
  { endpoint, family }: { readonly endpoint: RequestText['endpoint']; readonly family: Family },
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
