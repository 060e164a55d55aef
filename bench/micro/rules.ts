import { type CompiledRule, compileRule, isCompiled } from '../../src/rules/compile.ts';
import { bothCopies, costOfBoth } from '../../src/rules/copies.ts';
import type { RequestOwner } from '../../src/rules/text/request-text.ts';
import { bodyView, type RuleView } from '../../src/rules/text/view.ts';
import { messageRequest } from '../scenarios/requests.ts';
import type { Micro } from './loop.ts';

/** Rules as administrators write them. The bench's own texts match none. */
export const typicalRules = [
  String.raw`request.text.matches("(?i)\\bproject\\s+nightfall\\b")`,
  'request.messages.exists(m, m.role == "user" && m.text.contains("BEGIN PRIVATE KEY"))',
  'request.last_user_text.lowerAscii().containsAny(["password", "api key"])',
  'request.max_tokens > 32000 && !(project.name in ["research"])',
] as const;

const owner: RequestOwner = {
  project: { id: 'proj_00000000000000000000000001', name: 'Bench' },
  key: { id: 'key_00000000000000000000000001', name: 'Bench' },
  org: { id: 'org_00000000000000000000000001', tier: 5 },
};

const compiled = (text: string): CompiledRule => {
  const rule = compileRule(text, 'request');
  if (!isCompiled(rule)) throw new Error(`${text} is no rule.`);
  return rule;
};

/** The conversation of an agent: twenty messages, 8 KB. */
const agentBody = (): Buffer => {
  const { after } = messageRequest({ model: 'm', bodyBytes: 8192, maxTokens: 64, stream: false, shape: 'agent' });
  return Buffer.from(after!.trimStart());
};
const viewOf = (body: Buffer): RuleView => {
  const beside = { endpoint: 'messages', model: 'm', maxTokens: 64, inputTokens: 2000, stream: false } as const;
  return bodyView({ ...beside, body }, owner);
};

/**
 * What rules cost a request of twenty messages: its texts, which are made once for all of them, together with one rule; and
 * each rule on texts that are there, typical ones taking turns.
 */
export const ruleMicros = (): { readonly first: Micro; readonly each: Micro } => {
  const rules = typicalRules.map(compiled);
  const now = Date.UTC(2026, 0, 1, 12);
  // As the evaluator does it on the event loop, with the clock looked at, but in time however busy the machine is.
  const judge = (view: RuleView, turn: number): unknown => {
    const rule = rules[turn % rules.length]!;
    const verdict =
      costOfBoth(rule, view).place === 'loop' ? bothCopies({ rule, atLeast: 5000 }, view, now, 1e6) : null;
    if (verdict?.verdict !== 'score' || verdict.scoreBasisPoints !== 0) throw new Error(`${rule.text} was not judged.`);
    return verdict;
  };
  const body = agentBody();
  const read = viewOf(body);
  return {
    first: { name: 'twenty messages parsed, their texts, and one rule', run: () => judge(viewOf(body), 0) },
    each: { name: 'each further rule on twenty messages', run: (turn) => judge(read, turn) },
  };
};
