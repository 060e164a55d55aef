import type { Millis } from '../../clock.ts';
import { failure } from '../../http/error-envelopes.ts';
import type { Family, Reply } from '../../http/route.ts';
import { jsonText } from '../../json/exact-number.ts';
import type { Beside, RawBody } from '../../rules/text/request-text.ts';
import { bodyView, type RuleView } from '../../rules/text/view.ts';
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

type Told = Pick<Beside, 'endpoint' | 'model' | 'stream'>;

/** All that the upstream gets. @param outgoing a passing body */
const bodyOf = (seen: RequestSeen, outgoing: () => Buffer, { endpoint, model, stream }: Told): RawBody => {
  const { request, need, most, writtenMost } = seen;
  const { estimatedTokens: inputTokens, maxTokens: named, grows } = need;
  // An upstream without a named maximum gets the model's, or none, which is the same.
  const maxTokens = grows === true ? Math.max(named, request?.max_tokens ?? writtenMost ?? most) : named;
  // What is not in the client's API any more is in the form of messages.
  const form = request === null && writtenMost === undefined ? endpoint : 'messages';
  const body = request === null ? outgoing() : Buffer.from(jsonText(request));
  // Members by name, because copying an object with `...` takes a microsecond.
  return { endpoint, model, stream, inputTokens, maxTokens, body, form };
};

/** For replays, with the text. */
export const copyOf = (
  seen: RequestSeen,
  outgoing: () => Buffer,
  told: Told,
  { caller, requestId, at }: { readonly caller: PolicyCaller; readonly requestId: string; readonly at: Millis },
): KeptRequest => {
  const raw = bodyOf(seen, outgoing, told);
  return { requestId, at, owner: ownerOf(caller), body: { ...raw, body: Buffer.from(raw.body) } };
};

/** As rules see it. */
export const viewOf = (seen: RequestSeen, outgoing: () => Buffer, text: Told, caller: PolicyCaller): RuleView =>
  bodyView(bodyOf(seen, outgoing, text), ownerOf(caller));

/** For rules on answers only. */
const withoutText = (endpoint: Beside['endpoint'], caller: PolicyCaller): RuleView =>
  bodyView({ endpoint, model: '', maxTokens: 0, inputTokens: 0, stream: false, body: noBody }, ownerOf(caller));
const noBody = Buffer.from('{}');

/** Null without response policies. Holds only what it needs of the request. */
const watchOf = (guard: PolicyGuard, asked: Judged, endpoint: Beside['endpoint']): AnswerWatch | null => {
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
  { endpoint, family }: { readonly endpoint: Beside['endpoint']; readonly family: Family },
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
