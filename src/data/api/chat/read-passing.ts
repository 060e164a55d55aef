import type { Refusal } from '../../../errors.ts';
import { Refused } from '../../../http/refused.ts';
import { checker } from '../../../http/routing/endpoint.ts';
import type { Document } from '../../../json/document.ts';
import type { Edit } from '../../../json/edits.ts';
import type { PassingRules } from '../../request/body-reader.ts';
import { stateRefusal, stateRefused } from '../../request/state-references.ts';
import { estimateChatTokens, predictedTokens } from '../../upstream/chat-estimate.ts';
import { answersOf, chatState, type PassedChat, usageAsked } from './passing-rules.ts';
import { type PassingChatBody, passingChatBody } from './passing-schema.ts';
import { quickChatBody } from './quick-passing.ts';

/** The provider keeps spoken answers and voices of its account under ids. */
const spokenRefusal = (body: PassingChatBody): Refusal | null => {
  const { messages, audio: spoken } = body;
  const at = messages.findIndex(({ audio }) => audio != null);
  if (at !== -1) return stateRefused(body, ['messages', at, 'audio']);
  return spoken?.voice == null || typeof spoken.voice === 'string' ? null : stateRefused(body, ['audio', 'voice']);
};

const loosely = checker(passingChatBody, 'chat', 'body');

export const passingChat: PassingRules<PassedChat> = {
  api: 'chat.completions',
  passing: (upstream) => upstream.passing?.chat,
  names: [...Object.keys(passingChatBody.shape), ...Object.keys(chatState.members)],
  quick: quickChatBody,
  loose: (value, hosted, tape) => {
    const checked = loosely(value);
    if (checked instanceof Refused) return checked;
    const body = checked as PassingChatBody;
    const isDedicated = hosted.model.dedicated_to !== undefined;
    const refusal = isDedicated ? null : (stateRefusal(body, chatState) ?? spokenRefusal(body));
    if (refusal !== null) return new Refused(refusal);
    const includeUsage = body.stream_options?.include_usage === true;
    return {
      fields: { model: body.model, stream: body.stream === true, policy_ids: body.policy_ids, includeUsage },
      estimatedTokens: estimateChatTokens(value),
      ...answersOf(body, predictedTokens(value.prediction), hosted),
      ...(body.stream === true && !includeUsage && { edits: [usageEdit(tape, body.stream_options)], hidesUsage: true }),
    };
  },
};

const optionsName = Buffer.from('stream_options');

const usageEdit = (tape: Document, options: PassingChatBody['stream_options']): Edit => {
  const given = tape.member(0, optionsName);
  if (given !== -1) return tape.replaced(given, JSON.stringify({ ...options, include_usage: true }));
  const start = tape.start(0) + 1;
  return { start, end: start, text: usageAsked.whole };
};
