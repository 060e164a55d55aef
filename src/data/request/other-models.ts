import type { Refusal } from '../../errors.ts';
import { type Document, Kind } from '../../json/document.ts';
import { within } from '../upstream/transport/fields.ts';
import { bodyRefusal } from './body-refusal.ts';
import { firstMember, type Path } from './first-member.ts';
import { isClients, isClientsOnTape } from './served-tools.ts';
import { folded } from './spelling.ts';

/** Content, data and schemas of the caller: names in there mean nothing to an upstream. */
const ownData = new Set([
  'messages',
  'input',
  'system',
  'instructions',
  'prompt',
  'prediction',
  'metadata',
  'response_format',
  'text',
  'output_config',
  'output_format',
  'functions',
  'guided_json',
  'structured_outputs',
]);
/** In a tool that the upstream runs. */
const ownOfTool = new Set(['input_schema', 'input_examples', 'schema', 'headers', 'configs']);

/** `fallbacks`, `models`, `analysis_models`, `model_list` …; lower case. */
const namesModels = (name: string): boolean => name.includes('model') || name.includes('fallback') || name === 'preset';

/** The caller names the parameters of such tools freely. */
const hasOwnParameters = (type: unknown): boolean => isClients(type) || type === 'tool_search';

/** @param own members that are skipped */
const namedIn = (value: unknown, path: Path, own: ReadonlySet<string>): Path | null =>
  firstMember(value, path, {
    is: (name, inner) => inner !== null && namesModels(folded(name)),
    isPassedOver: (name, depth) => depth === 0 && own.has(name),
  });

const namedInTools = (tools: unknown, path: Path): Path | null => {
  if (!Array.isArray(tools)) return null;
  for (const [i, tool] of tools.entries()) {
    const { tools: inner, ...fields } = within(tool);
    const at = [...path, i];
    const direct = Object.keys(fields).find((name) => fields[name] != null && namesModels(folded(name)));
    const found =
      (direct === undefined ? null : [...at, direct]) ??
      (hasOwnParameters(fields.type) ? null : namedIn(fields, at, ownOfTool)) ??
      namedInTools(inner, [...at, 'tools']);
    if (found !== null) return found;
  }
  return null;
};

const namedInItems = (input: unknown): Path | null => {
  if (!Array.isArray(input)) return null;
  for (const [i, item] of input.entries()) {
    const found = namedInTools(within(item).tools, ['input', i, 'tools']);
    if (found !== null) return found;
  }
  return null;
};

/** A project restricted to certain models could reach all of the upstream's (contract B.2). */
export const otherModelsRefusal = (body: Readonly<Record<string, unknown>>): Refusal | null => {
  const { model: _, tools, ...others } = body;
  const path = namedInTools(tools, ['tools']) ?? namedInItems(body.input) ?? namedIn(others, [], ownData);
  if (path === null) return null;
  const message = 'The project may use certain models alone, and this names others.';
  return bodyRefusal(body, { code: 'unsupported_parameter', path, message });
};

/** A name that is not plain may name models. */
const mayNameIn = (tape: Document, bytes: Buffer, from: number, isDeep: boolean): boolean => {
  const end = tape.next(from);
  for (let at = from + 1; at < end; at = isDeep ? at + 1 : tape.next(at + 1)) {
    if (tape.kind(at) === Kind.name && mayNameModels(tape, bytes, at)) return true;
  }
  return false;
};

const nameOf = (tape: Document, bytes: Buffer, name: number): string =>
  bytes.toString('latin1', tape.start(name), tape.end(name));

const mayNameModels = (tape: Document, bytes: Buffer, at: number): boolean => {
  const name = nameOf(tape, bytes, at);
  return !tape.isPlainName(at) || name.includes('\\') || namesModels(name);
};

const toolList = Buffer.from('tools');

const mayNameInTool = (tape: Document, bytes: Buffer, tool: number): boolean => {
  if (tape.kind(tool) !== Kind.object) return true;
  return mayNameIn(tape, bytes, tool, !isClientsOnTape(tape, tool)) || tape.member(tool, toolList) !== -1;
};

const someEntry = (tape: Document, list: number, is: (entry: number) => boolean): boolean => {
  if (tape.kind(list) !== Kind.array) return false;
  for (let at = list + 1; at < tape.next(list); at = tape.next(at)) if (is(at)) return true;
  return false;
};

/** True also if the request must be parsed to know. */
export const mayNameOthers = (tape: Document, bytes: Buffer): boolean => {
  const end = tape.next(0);
  for (let at = 1; at < end; at = tape.next(at + 1)) {
    const value = at + 1;
    const name = nameOf(tape, bytes, at);
    if (name === 'tools') {
      if (someEntry(tape, value, (tool) => mayNameInTool(tape, bytes, tool))) return true;
    } else if (name === 'input') {
      const brings = (item: number) => tape.kind(item) === Kind.object && tape.member(item, toolList) !== -1;
      if (someEntry(tape, value, brings)) return true;
    } else if (name !== 'model' && !ownData.has(name)) {
      if (mayNameModels(tape, bytes, at)) return true;
      const kind = tape.kind(value);
      if ((kind === Kind.object || kind === Kind.array) && mayNameIn(tape, bytes, value, true)) return true;
    }
  }
  return false;
};
