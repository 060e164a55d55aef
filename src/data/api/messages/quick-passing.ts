import { type Document, Kind } from '../../../json/document.ts';
import type { QuickFields } from '../../request/body-reader.ts';
import { mostTurns, turnsOnTape } from '../../request/served-tools.ts';
import {
  type Check,
  isListOf,
  isNull,
  isObject,
  isObjectWith,
  isOf,
  isString,
  isWhole,
  namesAny,
  orNull,
} from '../../request/tape-checks.ts';
import { quickEstimate } from '../../upstream/quick-estimate.ts';
import { otherBounds } from './bounds.ts';
import { maxTokens } from './messages-schema.ts';
import { ownBounds } from './passing-schema.ts';

export type QuickBody = QuickFields<{
  readonly model: string;
  readonly max_tokens: number | undefined;
  readonly stream: boolean;
  readonly context_management: object | null;
  readonly policy_ids: null;
}>;

const type = Buffer.from('type');
const isFormat: Check = (tape, entry) => isTyped(tape, entry) && tape.member(entry, type) !== -1;
const isTyped = isObjectWith({ type: isString, schema: orNull(isObject) });

const isPlain = isObjectWith({
  ...Object.fromEntries(otherBounds(ownBounds).map((name) => [name, isNull])),
  model: isString,
  max_tokens: isWhole(1, maxTokens),
  messages: isListOf(isObjectWith({ content: isOf(Kind.string, Kind.array) })),
  system: isOf(Kind.string, Kind.array, Kind.null),
  stream: isOf(Kind.true, Kind.false, Kind.null),
  temperature: isOf(Kind.number, Kind.null),
  top_p: isOf(Kind.number, Kind.null),
  top_k: isOf(Kind.number, Kind.null),
  stop_sequences: orNull(isListOf(isString)),
  tools: orNull(isListOf(isObject)),
  tool_choice: orNull(
    isObjectWith({
      name: isOf(Kind.string, Kind.null),
      disable_parallel_tool_use: isOf(Kind.true, Kind.false, Kind.null),
    }),
  ),
  thinking: orNull(isObjectWith({ budget_tokens: orNull(isWhole(Number.MIN_SAFE_INTEGER, maxTokens)) })),
  output_config: orNull(isObjectWith({ format: orNull(isFormat) })),
  context_management: orNull(isObject),
  metadata: orNull(isObject),
  policy_ids: isNull,
  thread: isNull,
  container: isNull,
});

const model = Buffer.from('model');
const max = Buffer.from('max_tokens');
const messages = Buffer.from('messages');
const system = Buffer.from('system');
const stream = Buffer.from('stream');
const tools = Buffer.from('tools');
const managed = Buffer.from('context_management');
const output = Buffer.from('output_config');
const format = Buffer.from('format');
const schema = Buffer.from('schema');
const servers = Buffer.from('mcp_servers');
const compaction = Buffer.from('compaction');
const summing = Buffer.from('"compact');
const backslash = 0x5c;
const noBytes = Buffer.alloc(0);
const namesFile = namesAny(['file_id']);

/** Null if the body must be parsed: it is invalid, or has something rare. */
export const quickBody = (tape: Document, bytes: Buffer, name: string, needsMax: boolean): QuickBody | null => {
  if (name === '' || !isPlain(tape, 0) || namesFile(tape)) return null;
  const maxAt = tape.member(0, max);
  const list = tape.member(0, messages);
  if (list === -1 || tape.next(list) === list + 1 || (needsMax && maxAt === -1)) return null;
  const listed = tape.member(0, tools);
  const estimatedTokens = quickEstimate(tape, bytes, {
    messages: list,
    system: tape.member(0, system),
    tools: listed === -1 || isNull(tape, listed) ? -1 : listed,
    outputSchema: child(tape, child(tape, tape.member(0, output), format), schema),
  });
  if (Number.isNaN(estimatedTokens)) return null;
  const edit = tape.member(0, managed);
  const edits = edit === -1 ? noBytes : bytes.subarray(tape.start(edit), tape.end(edit));
  if (edits.includes(backslash)) return null;
  const streamed = tape.member(0, stream);
  const named = tape.member(0, model);
  const most = maxAt === -1 ? undefined : (tape.value(maxAt) as number);
  return {
    fields: {
      model: name,
      max_tokens: most,
      stream: streamed !== -1 && tape.kind(streamed) === Kind.true,
      context_management: edit === -1 || isNull(tape, edit) ? null : {},
      policy_ids: null,
    },
    estimatedTokens,
    maxTokens: most ?? 0,
    // The upstream may call its model to sum up the context.
    turns: edits.includes(summing) ? mostTurns : turnsOnTape(tape, listed, servers, compaction),
    modelStart: tape.start(named) - 1,
    modelEnd: tape.end(named) + 1,
  };
};

const child = (tape: Document, object: number, name: Buffer): number =>
  object === -1 || tape.kind(object) !== Kind.object ? -1 : tape.member(object, name);
