import { type Document, Kind } from '../../json/document.ts';
import { named } from '../../json/names.ts';
import { isClients } from './served-tools.ts';
import { foldedAt } from './spelling.ts';

/** Content, data and schemas of the caller: names in there mean nothing to an upstream. */
const ownData = new Set([
  'messages',
  'input',
  'system',
  'instructions',
  'prompt',
  'prediction',
  'metadata',
  'client_metadata',
  'response_format',
  'text',
  'output_config',
  'output_format',
  'functions',
  'guided_json',
  'structured_outputs',
]);
/** In a tool that the upstream runs. */
const ownOfTool = new Set(['input_schema', 'input_examples', 'schema', 'headers', 'configs', 'tools']);

const { type, tools, input, model, tool_search: toolSearch } = named('type', 'tools', 'input', 'model', 'tool_search');

/** `fallbacks`, `models`, `analysis_models`, `model_list` …; lower case. */
const isOfModels = (name: string): boolean => name.includes('model') || name.includes('fallback') || name === 'preset';

const namesModels = (tape: Document, name: number): boolean =>
  tape.kind(name + 1) !== Kind.null && isOfModels(foldedAt(tape, name));

const never = () => false;

/** The caller names the parameters of such tools freely. */
const hasOwnParameters = (tape: Document, tool: number): boolean =>
  isClients(tape, tool) || tape.says(tape.member(tool, type), toolSearch);

/** A name itself, or one in its value. @param own whether not to look into the value */
const namedBy = (tape: Document, name: number, own: boolean): number => {
  if (namesModels(tape, name)) return name;
  return own ? -1 : tape.firstName(name + 1, namesModels, never);
};

const namedInTools = (tape: Document, list: number): number =>
  tape.firstItem(list, (tool) => {
    const direct = tape.firstMember(tool, (name) => (namesModels(tape, name) ? name : -1));
    if (direct !== -1) return direct;
    const isFree = hasOwnParameters(tape, tool);
    const deep = isFree ? -1 : tape.firstMember(tool, (name) => namedBy(tape, name, ownOfTool.has(tape.text(name))));
    return deep === -1 ? namedInTools(tape, tape.member(tool, tools)) : deep;
  });

/** Where a body names another model than its own; -1 if nowhere (contract B.2). */
export const otherModelIn = (tape: Document): number => {
  const inTools = namedInTools(tape, tape.member(0, tools));
  if (inTools !== -1) return inTools;
  const inItems = tape.firstItem(tape.member(0, input), (item) => namedInTools(tape, tape.member(item, tools)));
  if (inItems !== -1) return inItems;
  return tape.firstMember(0, (name) => {
    if (tape.spells(name, model) || tape.spells(name, tools)) return -1;
    return namedBy(tape, name, ownData.has(tape.text(name)));
  });
};
