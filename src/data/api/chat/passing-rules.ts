import { type Document, Kind } from '../../../json/document.ts';
import type { Edit } from '../../../json/edits.ts';
import { named } from '../../../json/names.ts';
import { jsonBytesOf } from '../../questions/counted.ts';
import { keptMembers, stateFinder } from '../../questions/kept-state.ts';
import type { PassingRules } from '../../request/passing.ts';
import { estimateTokensOf } from '../../upstream/estimate.ts';
import { unnamedMaximum } from '../translation/translated-task.ts';
import { passingChatBody } from './passing-schema.ts';
import { walkChat } from './walk.ts';

/** What an answer takes from its request. */
export interface ChatSaid {
  readonly includeUsage: boolean;
}

const { stream, stream_options: options, include_usage: include } = named('stream', 'stream_options', 'include_usage');
const bounds = named('max_completion_tokens', 'max_tokens', 'n', 'best_of');
const { prediction, content, messages, audio, voice } = named('prediction', 'content', 'messages', 'audio', 'voice');

const stateIn = stateFinder({
  members: keptMembers,
  anywhere: ['file_id', 'file_ids', 'vector_store_ids', 'skill_id', 'tunnel_id', 'comparison_response_id'],
  ownData: ['text', 'arguments', 'parameters', 'schema', 'metadata', 'file_data', 'data', 'logit_bias'],
});

/** The provider keeps spoken answers and voices of its account under ids. */
const spokenIn = (tape: Document): number => {
  const spoken = tape.firstItem(tape.member(0, messages), (message) => {
    const said = tape.member(message, audio);
    return tape.isGiven(said) ? said : -1;
  });
  if (spoken !== -1) return spoken;
  const by = tape.member(tape.member(0, audio), voice);
  return tape.isGiven(by) && !tape.is(by, Kind.string) ? by : -1;
};

/** One that does not come true is charged as output. */
const predictedTokens = (tape: Document): number => {
  const given = tape.member(0, prediction);
  if (!tape.isGiven(given)) return 0;
  const text = tape.member(given, content);
  return estimateTokensOf(tape.is(text, Kind.string) ? tape.textBytes(text) : jsonBytesOf(tape, given));
};

const isTrue = (tape: Document, entry: number): boolean => tape.is(entry, Kind.true);
const includesUsage = (tape: Document): boolean => isTrue(tape, tape.member(tape.member(0, options), include));
/** Weir must know the usage of a stream. */
const hidesUsage = (tape: Document): boolean => isTrue(tape, tape.member(0, stream)) && !includesUsage(tape);

const usageEdit = (tape: Document): Edit => {
  const given = tape.member(0, options);
  if (given === -1) return tape.inserted(0, '"stream_options":{"include_usage":true}');
  if (!tape.isGiven(given)) return tape.replaced(given, '{"include_usage":true}');
  const asked = tape.member(given, include);
  return asked === -1 ? tape.inserted(given, '"include_usage":true') : tape.replaced(asked, 'true');
};

export const passingChat: PassingRules<ChatSaid> = {
  as: 'chat',
  family: 'chat',
  schema: passingChatBody,
  state: Object.keys(keptMembers),
  kept: (tape) => {
    const state = stateIn(tape);
    return state === -1 ? spokenIn(tape) : state;
  },
  conversation: [messages],
  walk: walkChat,
  // All answers count, also those that `best_of` discards, and failed predictions (contract F.4).
  answer: (tape, { model: { max_output_length: most }, upstream }) => {
    const numberOf = (name: Buffer): number => tape.number(tape.member(0, name)) ?? 0;
    const names = (name: Buffer): boolean => tape.member(0, name) !== -1;
    const maximum = Math.max(numberOf(bounds.max_completion_tokens), numberOf(bounds.max_tokens));
    const answers = Math.max(1, numberOf(bounds.n), numberOf(bounds.best_of));
    const predicted = predictedTokens(tape);
    const member = upstream.passing?.chat?.maximum;
    // A prediction is charged beside the answer.
    const isCut =
      member !== undefined && predicted === 0 && !names(bounds.max_completion_tokens) && !names(bounds.max_tokens);
    const all = (each: number): number => each * answers + predicted;
    return {
      maxTokens: all(maximum || Math.min(unnamedMaximum, most)),
      grows: maximum === 0,
      longest: all(maximum || most),
      cut: isCut ? { member, answers, least: 1 } : undefined,
    };
  },
  turns: () => 1,
  edits: (tape) => (hidesUsage(tape) ? [usageEdit(tape)] : []),
  hidesUsage,
  choices: (tape) => tape.number(tape.member(0, bounds.n)),
  said: (tape) => ({ includeUsage: includesUsage(tape) }),
};
