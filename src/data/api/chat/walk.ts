import { Kind } from '../../../json/document.ts';
import { named, nameSet } from '../../../json/names.ts';
import type { Counted } from '../../questions/counted.ts';
import { settings } from '../../questions/settings.ts';

const body = named('messages', 'tools', 'functions', 'response_format', 'json_schema', 'schema');
const said = named('content', 'tool_calls', 'type', 'id', 'name', 'arguments', 'parameters', 'url');
const kinds = named('text', 'refusal', 'image_url', 'function');
/** Parts that are counted by their base64, and the member that has it. */
const binary = Object.entries({ file: 'file_data', input_audio: 'data', audio_url: 'url', video_url: 'url' }).map(
  ([kind, data]) => ({ kind: Buffer.from(kind), data: Buffer.from(data) }),
);
const isLabel = nameSet(['role', 'tool_call_id']);
const isOfFormat = nameSet(['type', 'json_schema']);
const isOfSchema = nameSet(['type', 'name', 'schema']);
const isOfTool = nameSet(['type', 'function']);
const isOfFunction = nameSet(['name', 'description', 'parameters']);
const isOfCall = nameSet(['id', 'type', 'function']);
const isOfCalled = nameSet(['name', 'arguments']);
const isOfBody = nameSet([
  ...settings,
  'messages',
  'functions',
  'response_format',
  'prediction',
  'stop',
  'logit_bias',
  'modalities',
  'audio',
  'function_call',
  'reasoning_effort',
  'verbosity',
  'web_search_options',
]);

/** What a model reads of a passing chat completion, in order. */
export const walkChat = (to: Counted): void => {
  const { tape } = to;
  tape.eachItem(tape.member(0, body.messages), (message) => {
    to.message();
    tape.eachName(message, (name) => walkMember(to, name));
  });
  tape.eachItem(tape.member(0, body.tools), (tool) => walkTool(to, tool));
  const functions = tape.member(0, body.functions);
  if (tape.isGiven(functions)) to.json(functions);
  const format = tape.member(0, body.response_format);
  const demanded = tape.member(format, body.json_schema);
  const schema = tape.member(demanded, body.schema);
  if (schema !== -1) to.json(schema);
  to.rest(format, isOfFormat);
  to.rest(demanded, isOfSchema);
  to.rest(0, isOfBody);
};

/** Every member of a message may be read. */
const walkMember = (to: Counted, name: number): void => {
  const { tape } = to;
  const value = name + 1;
  const kind = tape.kind(value);
  if (kind === Kind.null) return;
  if (kind === Kind.string) {
    if (isLabel(tape, name)) to.label(value);
    else to.text(value);
  } else if (tape.spells(name, said.content)) tape.eachItem(value, (part) => walkPart(to, part));
  else if (tape.spells(name, said.tool_calls)) tape.eachItem(value, (call) => walkCall(to, call));
  else to.json(value);
};

const walkPart = (to: Counted, part: number): void => {
  const { tape } = to;
  const tag = tape.member(part, said.type);
  if (tape.says(tag, kinds.text)) to.text(tape.member(part, kinds.text));
  else if (tape.says(tag, kinds.image_url)) {
    const link = tape.member(part, kinds.image_url);
    to.image(tape.is(link, Kind.object) ? tape.member(link, said.url) : link);
  } else if (tape.says(tag, kinds.refusal)) to.text(tape.member(part, kinds.refusal));
  else {
    const known = binary.find(({ kind }) => tape.says(tag, kind));
    if (known === undefined) to.json(part);
    else to.pages(tape.member(tape.member(part, known.kind), known.data));
  }
};

const walkCall = (to: Counted, call: number): void => {
  const { tape } = to;
  const called = tape.member(call, kinds.function);
  to.label(tape.member(call, said.id));
  to.text(tape.member(called, said.name));
  to.text(tape.member(called, said.arguments));
  to.rest(call, isOfCall);
  to.rest(called, isOfCalled);
};

const walkTool = (to: Counted, tool: number): void => {
  const { tape } = to;
  const declared = tape.member(tool, kinds.function);
  to.tool(tool);
  if (!tape.is(declared, Kind.object)) {
    to.json(tool);
    return;
  }
  to.declared(declared, said.parameters);
  to.rest(tool, isOfTool);
  to.rest(declared, isOfFunction);
};
