import { lentDocument as tape } from '../../json/document.ts';
import { jsonText } from '../../json/exact-number.ts';
import { isIdOfAnswer, isUnread } from './answer-marks.ts';
import { type MessagePieces, note, nothingFound, readBlock } from './block-text.ts';
import { addLeaves, addMembers, addValue } from './leaves.ts';
import { membersOf } from './members.ts';
import type { ResponseText } from './request-text.ts';

/** The strings of an answer before normalization. Plain data, because it is sent to threads. */
export interface ResponsePieces {
  readonly stopReason: string;
  readonly outputTokens: number;
  readonly text: MessagePieces;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
}

/** Text and nothing else, as nearly all blocks: it is not written down to be read again. */
const isPlain = (block: { readonly type: string; readonly text?: unknown }): block is Plain =>
  block.type === 'text' && typeof block.text === 'string' && Object.keys(block).length === 2;
interface Plain {
  readonly type: 'text';
  readonly text: string;
}

const ofCall = ['type', 'name', 'input', 'id'];

/** Calls, thinking, sources and the rest follow the written text. */
export const responsePiecesOf = ({ content, stopReason, outputTokens, others }: ResponseText): ResponsePieces => {
  const calls: { name: string; arguments: string }[] = [];
  for (const { type, name, input } of content as readonly {
    readonly type: string;
    readonly [field: string]: unknown;
  }[]) {
    if (type !== 'tool_use' && !type.endsWith('_tool_use')) continue;
    calls.push({ name: String(name), arguments: typeof input === 'string' ? input : jsonText(input ?? {}) });
  }
  tape.scanText(jsonText([content.map((block) => (isPlain(block) ? null : block)), others ?? null]));
  const [blocks, rest] = tape.items(0) as [number, number];
  const text = nothingFound('assistant');
  for (const [index, at] of tape.items(blocks).entries()) {
    const given = content[index]!;
    if (isPlain(given)) {
      note(text, given.text, false);
      continue;
    }
    const block = membersOf(at);
    if (isIdOfAnswer('id', (given as { readonly id?: unknown }).id)) block.take('id');
    if (given.type !== 'tool_use') readBlock(text, block, false);
    else {
      const [name, input] = [block.get('name'), block.get('input')];
      if (name !== undefined) addValue(text.beside, name);
      if (input !== undefined) addLeaves(text.beside, input, { isInput: true });
      addMembers(text.beside, block, ofCall, { skips: isUnread });
    }
  }
  const said: string[] = [];
  addLeaves(said, rest, { isNameless: true, skips: isUnread });
  const known = new Set([...text.text, ...text.beside, ...calls.map((call) => call.arguments)]);
  for (const each of said) {
    if (known.has(each)) continue;
    known.add(each);
    text.beside.push(each);
  }
  return { stopReason, outputTokens, text, calls };
};
