import { Kind } from '../../../json/document.ts';
import { named, nameSet } from '../../../json/names.ts';
import type { Counted } from '../../questions/counted.ts';
import { settings } from '../../questions/settings.ts';

const body = named('input', 'instructions', 'tools', 'max_tool_calls', 'text', 'format', 'schema');
const said = named('type', 'role', 'content', 'output', 'name', 'arguments', 'parameters', 'text', 'refusal');
const items = named('message', 'function_call', 'function_call_output', 'computer_call_output');
const parts = named(
  'input_text',
  'output_text',
  'refusal',
  'input_image',
  'computer_screenshot',
  'input_file',
  'input_audio',
);
const shown = named('image_url', 'file_data', 'data', 'function', 'namespace');
const isOfTool = nameSet(['type', 'name', 'description', 'parameters']);
const isOfSchema = nameSet(['type', 'name', 'schema']);
const isOfBody = nameSet([
  ...settings,
  'input',
  'instructions',
  'text',
  'include',
  'truncation',
  'context_management',
  'moderation',
  'client_metadata',
]);

/** What a model reads of a passing response, in order. */
export const walkResponse = (to: Counted): void => {
  const { tape } = to;
  to.text(tape.member(0, body.instructions));
  const input = tape.member(0, body.input);
  if (tape.is(input, Kind.string)) to.message();
  to.text(input);
  tape.eachItem(input, (item) => walkItem(to, item));
  tape.eachItem(tape.member(0, body.tools), (tool) => walkTool(to, tool));
  to.boundSearches(tape.member(0, body.max_tool_calls));
  const format = tape.member(tape.member(0, body.text), body.format);
  const schema = tape.member(format, body.schema);
  if (schema !== -1) to.json(schema);
  to.rest(format, isOfSchema);
  to.rest(0, isOfBody);
};

const walkItem = (to: Counted, item: number): void => {
  const { tape } = to;
  const tag = tape.member(item, said.type);
  to.message();
  to.label(tape.member(item, said.role));
  // Items can bring tools.
  tape.eachItem(tape.member(item, body.tools), (tool) => declare(to, tool));
  if (tag === -1 || tape.says(tag, items.message)) walkContent(to, tape.member(item, said.content));
  else if (tape.says(tag, items.function_call)) {
    to.text(tape.member(item, said.name));
    to.text(tape.member(item, said.arguments));
  } else if (tape.says(tag, items.function_call_output)) walkContent(to, tape.member(item, said.output));
  else if (tape.says(tag, items.computer_call_output)) walkPart(to, tape.member(item, said.output));
  else to.json(item);
};

const walkContent = (to: Counted, content: number): void => {
  to.text(content);
  to.tape.eachItem(content, (part) => walkPart(to, part));
};

const walkPart = (to: Counted, part: number): void => {
  const { tape } = to;
  const tag = tape.member(part, said.type);
  const is = (kind: Buffer): boolean => tape.says(tag, kind);
  if (is(parts.input_text) || is(parts.output_text)) to.text(tape.member(part, said.text));
  else if (is(parts.refusal)) to.text(tape.member(part, said.refusal));
  else if (is(parts.input_image) || is(parts.computer_screenshot)) to.image(tape.member(part, shown.image_url));
  else if (is(parts.input_file)) to.pages(tape.member(part, shown.file_data));
  else if (is(parts.input_audio)) {
    const data = tape.member(part, shown.data);
    to.pages(tape.isGiven(data) ? data : tape.member(tape.member(part, parts.input_audio), shown.data));
  } else to.json(part);
};

/** A namespace is only what is in it. */
const declare = (to: Counted, tool: number): void => {
  const { tape } = to;
  const isNamespace = tape.says(tape.member(tool, said.type), shown.namespace);
  if (isNamespace) tape.eachItem(tape.member(tool, body.tools), (inner) => to.tool(inner));
  else to.tool(tool);
};

const walkTool = (to: Counted, tool: number): void => {
  const { tape } = to;
  declare(to, tool);
  if (!tape.says(tape.member(tool, said.type), shown.function)) {
    to.json(tool);
    return;
  }
  to.declared(tool, said.parameters);
  to.rest(tool, isOfTool);
};
