import type { Refusal } from '../../../errors.ts';
import { type BodyFault, bodyRefusal } from '../../request/body-refusal.ts';
import type { Model } from '../../upstream/models/models.ts';
import type { InputBlock } from '../../upstream/port.ts';
import type { MessagesCount } from './messages-schema.ts';

type Modalities = Model['input_modalities'];
type Path = readonly (string | number)[];

/** The first image or document that the model does not take. Documents need the modality `file` (contract G.2). */
export const mediaRefusal = (body: MessagesCount, modalities: Modalities): Refusal | null => {
  for (const [index, { content }] of body.messages.entries()) {
    const fault = contentFault(content, ['messages', index, 'content'], modalities);
    if (fault !== null) return bodyRefusal(body, fault);
  }
  return null;
};

const contentFault = (content: unknown, path: Path, modalities: Modalities): BodyFault | null => {
  if (!Array.isArray(content)) return null;
  for (const [at, block] of (content as readonly InputBlock[]).entries()) {
    const fault = blockFault(block, path, at, modalities);
    if (fault !== null) return fault;
  }
  return null;
};

const blockFault = (block: InputBlock, path: Path, at: number, modalities: Modalities): BodyFault | null => {
  if (block.type === 'tool_result') return contentFault(block.content, [...path, at, 'content'], modalities);
  if (block.type !== 'image' && block.type !== 'document') return null;
  const modality = block.type === 'image' ? 'image' : 'file';
  if (!modalities.includes(modality)) {
    return {
      code: 'unsupported_content_block',
      path: [...path, at, 'type'],
      message: `The model does not take input of the modality ${modality}.`,
    };
  }
  const source = block.source as Readonly<Record<string, unknown>>;
  if (source.type === 'url') {
    return {
      code: 'invalid_media',
      path: [...path, at, 'source', 'url'],
      message: 'Images by URL are not fetched here. Send the image as base64.',
    };
  }
  // Other sources ignore a member of that name, unchecked.
  return source.type === 'content'
    ? contentFault(source.content, [...path, at, 'source', 'content'], modalities)
    : null;
};
