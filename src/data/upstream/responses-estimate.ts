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
import { fieldsOf, itemsOf } from './loose-fields.ts';
import type { Fields } from './transport/fields.ts';

/** The estimated input tokens of a passing response (contract F.4). Unknown members count as their JSON. */

interface Sum {
  bytes: number;
  flat: number;
}

export const estimateResponseTokens = (body: Fields): number => {
  const sum: Sum = { bytes: textBytes(body.instructions), flat: 0 };
  if (typeof body.input === 'string') {
    sum.bytes += textBytes(body.input);
    sum.flat += perMessage;
  } else for (const item of itemsOf(body.input)) addItem(sum, item);
  for (const tool of itemsOf(body.tools)) {
    const { type, name, description, parameters } = fieldsOf(tool);
    if (type !== 'function') sum.bytes += jsonBytes(tool);
    else sum.bytes += textBytes(name) + textBytes(description) + jsonBytes(parameters ?? {});
    if (type === 'function') sum.bytes += restBytes(tool, known.responsesTool);
  }
  const { format } = fieldsOf(body.text);
  const { schema } = fieldsOf(format);
  if (schema !== undefined) sum.bytes += jsonBytes(schema);
  sum.bytes += restBytes(format, known.schema) + restBytes(body, known.responses);
  return estimateTokensOf(sum.bytes) + sum.flat;
};

const addItem = (sum: Sum, item: unknown): void => {
  const { type, role, content, name, arguments: said, output } = fieldsOf(item);
  sum.flat += perMessage;
  sum.bytes += labelBytes(role);
  if (type === undefined || type === 'message') addContent(sum, content);
  else if (type === 'function_call') sum.bytes += textBytes(name) + textBytes(said);
  else if (type === 'function_call_output') addContent(sum, output);
  else if (type === 'computer_call_output') addPart(sum, output);
  else sum.bytes += jsonBytes(item);
};

const addContent = (sum: Sum, content: unknown): void => {
  if (typeof content === 'string') sum.bytes += textBytes(content);
  else for (const part of itemsOf(content)) addPart(sum, part);
};

const addPart = (sum: Sum, part: unknown): void => {
  const { type, text, refusal, file_data, image_url, data, input_audio } = fieldsOf(part);
  switch (type) {
    case 'input_text':
    case 'output_text':
      sum.bytes += textBytes(text);
      break;
    case 'refusal':
      sum.bytes += textBytes(refusal);
      break;
    case 'input_image':
    case 'computer_screenshot':
      sum.flat += perImage;
      sum.bytes += drawnBytes(image_url);
      break;
    case 'input_file':
      sum.flat += perPages(file_data);
      break;
    case 'input_audio':
      sum.flat += perPages(data ?? fieldsOf(input_audio).data);
      break;
    default:
      sum.bytes += jsonBytes(part);
  }
};
