import type { Clock, Millis } from '../../clock.ts';
import type { KeptRequest } from '../../data/policy/kept-requests.ts';
import type { Settlement } from '../../domain/usage/usage-events.ts';
import { compileRule, isCompiled } from '../../rules/compile.ts';
import type { AnyRule, Evaluator } from '../../rules/evaluate.ts';
import { isSlowToCompile } from '../../rules/language/patterns/pattern.ts';
import type { Direction } from '../../rules/language/variables.ts';
import { partialVerdict, type Remnant } from '../../rules/partial.ts';
import { failed, isBusy, type Verdict } from '../../rules/score.ts';
import type { RequestOwner } from '../../rules/text/request-text.ts';
import { bodyView } from '../../rules/text/view.ts';

export interface Draft {
  readonly rule: string;
  readonly direction: Direction;
  readonly atLeast: number;
  readonly covers: (projectId: string) => boolean;
}

/** Requests of one organization. */
export interface Past {
  readonly organizationId: string;
  readonly from: Millis;
  /** With text, newest first. */
  readonly kept: readonly KeptRequest[];
  /** Of all organizations, newest first. */
  readonly settled: AsyncIterable<readonly Settlement[]>;
  /** Present names. */
  readonly ownerOf: (projectId: string, keyId: string) => RequestOwner;
}

export interface Example {
  readonly requestId: string;
  readonly projectId: string;
  readonly keyId: string;
  readonly verdict: 'matched' | 'error';
  readonly scoreBasisPoints: number | null;
  readonly at: Millis;
}

export interface Replayed {
  readonly requests: number;
  readonly matched: number;
  readonly failed: number;
  /** It depends on what accounts do not have. */
  readonly undecided: number;
  /** Of these, judged by their text. */
  readonly byText: number;
  /** Whether the whole period was read. */
  readonly complete: boolean;
  readonly examples: readonly Example[];
}

const mostExamples = 20;
const mostRequests = 10_000;
/** Of all organizations. */
const mostAccounts = 200_000;
const mostMs = 4_000;
const turnMs = 5;

/** Newest first, as far as time allows. The result has no content of requests. */
export const replay = async (
  draft: Draft,
  past: Past,
  { evaluator, clock }: { readonly evaluator: Pick<Evaluator, 'judge'>; readonly clock: Clock },
): Promise<Replayed> => {
  const count = { requests: 0, matched: 0, failed: 0, undecided: 0, byText: 0 };
  const examples: Example[] = [];
  const end = clock.monotonic() + mostMs;
  let turn = clock.monotonic() + turnMs;
  const isOver = (): boolean => count.requests >= mostRequests || clock.monotonic() > end;
  const giveTurn = async (): Promise<void> => {
    if (clock.monotonic() < turn) return;
    await new Promise((resolve) => setImmediate(resolve));
    turn = clock.monotonic() + turnMs;
  };
  const note = (verdict: Verdict | null, of: Omit<Example, 'verdict' | 'scoreBasisPoints'>): void => {
    count.requests += 1;
    if (verdict === null || isBusy(verdict)) count.undecided += 1;
    else if (verdict.verdict === 'error') {
      count.failed += 1;
      if (examples.length < mostExamples) examples.push({ ...of, verdict: 'error', scoreBasisPoints: null });
    } else if (verdict.scoreBasisPoints >= draft.atLeast) {
      count.matched += 1;
      const { scoreBasisPoints } = verdict;
      if (examples.length < mostExamples) examples.push({ ...of, verdict: 'matched', scoreBasisPoints });
    }
  };

  const judged = ruleOf(draft);
  const seen = new Set<string>();
  // Answers are not kept, so response rules are judged by accounts only.
  const kept = draft.direction === 'request' ? past.kept : [];
  for (const { requestId, at, owner, body } of kept) {
    if (at < past.from || !draft.covers(owner.project.id)) continue;
    if (isOver()) return { ...count, complete: false, examples };
    seen.add(requestId);
    const [verdict] = await evaluator.judge([judged], bodyView(body, owner), { now: at });
    count.byText += 1;
    note(verdict!, { requestId, projectId: owner.project.id, keyId: owner.key.id, at });
    await giveTurn();
  }

  let accounts = 0;
  for await (const settlements of past.settled) {
    accounts += settlements.length;
    for (const each of settlements) {
      const { organization_id, project_id: projectId, key_id: keyId, request_id: requestId } = each;
      if (organization_id !== past.organizationId || seen.has(requestId) || !draft.covers(projectId)) continue;
      if (isOver()) return { ...count, complete: false, examples };
      const verdict = byAccount(judged, each, past.ownerOf(projectId, keyId));
      note(verdict, { requestId, projectId, keyId, at: each.settled_at });
      await giveTurn();
    }
    if (accounts >= mostAccounts || isOver()) return { ...count, complete: false, examples };
    await giveTurn();
  }
  return { ...count, complete: true, examples };
};

/** A slow compilation is left to a thread. */
const ruleOf = ({ rule: text, direction, atLeast }: Draft): AnyRule => {
  const rule = isSlowToCompile(text) ? null : compileRule(text, direction);
  return rule !== null && isCompiled(rule) ? { rule, atLeast } : { rule: null, text, direction, atLeast };
};

/** Counted tokens, where the rule saw an estimate. */
const byAccount = (judged: AnyRule, settlement: Settlement, owner: RequestOwner): Verdict | null => {
  if (judged.rule === null) return isSlowToCompile(judged.text) ? null : failed('the rule is not valid');
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = settlement;
  const remnant: Remnant = {
    request: {
      endpoint: settlement.api,
      model: settlement.model,
      input_tokens: BigInt(input_tokens + cache_creation_input_tokens + cache_read_input_tokens),
    },
    response: { output_tokens: BigInt(output_tokens) },
    owner,
  };
  return partialVerdict(judged, remnant, settlement.settled_at);
};
