import { Kind } from '../../../json/document.ts';
import { named, nameSet } from '../../../json/names.ts';
import type { Counted } from '../../questions/counted.ts';
import { settings } from '../../questions/settings.ts';
import { ownOfTool, svg } from '../../upstream/estimate.ts';

const body = named('messages', 'system', 'tools', 'output_config', 'format', 'schema');
const said = named('role', 'content', 'type', 'text', 'thinking', 'name', 'input', 'source', 'title', 'context');
const kinds = named('text', 'image', 'thinking', 'tool_use', 'tool_result', 'document', 'content');
const { media_type: mediaType, data, input_schema: inputSchema } = named('media_type', 'data', 'input_schema');
const drawing = Buffer.from(svg);
const isOfTool = nameSet(ownOfTool);
const isOfBody = nameSet([
  ...settings,
  'messages',
  'system',
  'output_config',
  'stop_sequences',
  'thinking',
  'context_management',
  'inference_geo',
  'speed',
  'cache_control',
  'diagnostics',
  'betas',
]);

/** What a model reads of a passing message, in order. */
export const walkMessages = (to: Counted): void => {
  const { tape } = to;
  walkContent(to, tape.member(0, body.system));
  tape.eachItem(tape.member(0, body.messages), (message) => {
    to.message();
    to.label(tape.member(message, said.role));
    walkContent(to, tape.member(message, said.content));
  });
  tape.eachItem(tape.member(0, body.tools), (tool) => {
    to.tool(tool, true);
    to.declared(tool, inputSchema);
    to.rest(tool, isOfTool);
  });
  const schema = tape.member(tape.member(tape.member(0, body.output_config), body.format), body.schema);
  if (schema !== -1) to.json(schema);
  to.rest(0, isOfBody);
};

const walkContent = (to: Counted, content: number): void => {
  const { tape } = to;
  to.text(content);
  tape.eachItem(content, (block) => {
    if (tape.kind(block) === Kind.object) walkBlock(to, block);
    else if (tape.kind(block) === Kind.array) to.json(block);
    else to.text(block);
  });
};

const walkBlock = (to: Counted, block: number): void => {
  const { tape } = to;
  const tag = tape.member(block, said.type);
  if (tape.says(tag, kinds.text)) to.text(tape.member(block, said.text));
  else if (tape.says(tag, kinds.tool_use)) {
    to.text(tape.member(block, said.name));
    to.json(tape.member(block, said.input));
  } else if (tape.says(tag, kinds.tool_result)) walkContent(to, tape.member(block, said.content));
  else if (tape.says(tag, kinds.thinking)) to.text(tape.member(block, said.thinking));
  else if (tape.says(tag, kinds.image)) {
    const source = tape.member(block, said.source);
    to.image(-1);
    if (tape.says(tape.member(source, mediaType), drawing)) to.text(tape.member(source, data));
  } else if (tape.says(tag, kinds.document)) walkDocument(to, block);
  else to.json(block);
};

const walkDocument = (to: Counted, block: number): void => {
  const { tape } = to;
  const source = tape.member(block, said.source);
  const tag = tape.member(source, said.type);
  to.text(tape.member(block, said.title));
  to.text(tape.member(block, said.context));
  if (tape.says(tag, kinds.content)) walkContent(to, tape.member(source, said.content));
  else if (tape.says(tag, kinds.text)) to.text(tape.member(source, data));
  else to.pages(tape.member(source, data));
};
