import {
  drawnBytes,
  estimateTokensOf,
  jsonBytes,
  labelBytes,
  perImage,
  perMessage,
  perPages,
  restBytes,
  textBytes,
} from './estimate.ts';
import { known } from './known-members.ts';
import { fieldsOf, isObject, itemsOf } from './loose-fields.ts';
import type { Fields } from './transport/fields.ts';

/** The estimated input tokens of a passing chat completion (contract F.4). Unknown members count as their JSON. */

export const labels = ['role', 'tool_call_id'];
/** Parts that are counted by their base64, and the member that has it. */
const binary: Readonly<Record<string, string>> = {
  file: 'file_data',
  input_audio: 'data',
  audio_url: 'url',
  video_url: 'url',
};
export const binaryTypes = Object.keys(binary);

/** A prediction that does not come true is charged as output (contract F.4). */
export const predictedTokens = (prediction: unknown): number => {
  if (prediction == null) return 0;
  const { content } = fieldsOf(prediction);
  return estimateTokensOf(typeof content === 'string' ? textBytes(content) : jsonBytes(prediction));
};

export const estimateChatTokens = (body: Fields): number => {
  let bytes = 0;
  let flat = 0;
  const addPart = (part: unknown): void => {
    const { type, text, refusal } = fieldsOf(part);
    const data = typeof type === 'string' ? binary[type] : undefined;
    if (type === 'text') bytes += textBytes(text);
    else if (type === 'refusal') bytes += textBytes(refusal);
    else if (type === 'image_url') {
      flat += perImage;
      const link = fieldsOf(part).image_url;
      bytes += drawnBytes(typeof link === 'string' ? link : fieldsOf(link).url);
    } else if (data !== undefined) {
      flat += perPages(fieldsOf(fieldsOf(part)[type as string])[data]);
    } else bytes += jsonBytes(part);
  };
  const addMember = (name: string, value: unknown): void => {
    if (value === null) return;
    if (typeof value === 'string') bytes += labels.includes(name) ? labelBytes(value) : textBytes(value);
    else if (name === 'content') itemsOf(value).forEach(addPart);
    else if (name === 'tool_calls') {
      for (const call of itemsOf(value)) {
        const { id, function: called } = fieldsOf(call);
        const { name: of, arguments: said } = fieldsOf(called);
        bytes += labelBytes(id) + textBytes(of) + textBytes(said);
        bytes += restBytes(call, known.call) + restBytes(called, known.called);
      }
    } else bytes += jsonBytes(value);
  };
  for (const message of itemsOf(body.messages)) {
    flat += perMessage;
    for (const [name, value] of Object.entries(fieldsOf(message))) addMember(name, value);
  }
  for (const tool of itemsOf(body.tools)) {
    const declared = fieldsOf(tool).function;
    if (isObject(declared)) {
      bytes += textBytes(declared.name) + textBytes(declared.description) + jsonBytes(declared.parameters ?? {});
      bytes += restBytes(tool, known.tool) + restBytes(declared, known.function);
    } else bytes += jsonBytes(tool);
  }
  if (body.functions != null) bytes += jsonBytes(body.functions);
  const { response_format: format } = body;
  const { json_schema: demanded } = fieldsOf(format);
  const { schema } = fieldsOf(demanded);
  if (schema !== undefined) bytes += jsonBytes(schema);
  bytes += restBytes(format, known.format) + restBytes(demanded, known.schema) + restBytes(body, known.chat);
  return estimateTokensOf(bytes) + flat;
};
