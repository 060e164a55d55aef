import type { Refusal } from '../../errors.ts';
import type { Model } from '../../upstream/models/models.ts';
import type { InputBlock, Message } from '../../upstream/port.ts';
import { bodyRefusal } from '../body-refusal.ts';

type Modalities = Model['input_modalities'];
type Path = readonly (string | number)[];

/**
 * Whether the model takes the images and documents of a request; the first that it does not take decides. Documents
 * need the modality `file` (contract G.2).
 */
export const mediaRefusal = (messages: readonly Message[], modalities: Modalities): Refusal | null => {
  for (const [index, { content }] of messages.entries()) {
    const refused = contentRefusal(content, ['messages', index, 'content'], modalities);
    if (refused !== null) return refused;
  }
  return null;
};

const contentRefusal = (content: unknown, path: Path, modalities: Modalities): Refusal | null => {
  if (!Array.isArray(content)) return null;
  for (const [at, block] of (content as readonly InputBlock[]).entries()) {
    const refused = blockRefusal(block, path, at, modalities);
    if (refused !== null) return refused;
  }
  return null;
};

const blockRefusal = (block: InputBlock, path: Path, at: number, modalities: Modalities): Refusal | null => {
  if (block.type === 'tool_result') return contentRefusal(block.content, [...path, at, 'content'], modalities);
  if (block.type !== 'image' && block.type !== 'document') return null;
  const modality = block.type === 'image' ? 'image' : 'file';
  if (!modalities.includes(modality)) {
    return bodyRefusal({
      code: 'unsupported_content_block',
      path: [...path, at, 'type'],
      message: `The model does not take input of the modality ${modality}.`,
      input: block.type,
    });
  }
  const source = block.source as Readonly<Record<string, unknown>>;
  if (source.type === 'url') {
    return bodyRefusal({
      code: 'invalid_media',
      path: [...path, at, 'source', 'url'],
      message: 'Images by URL are not fetched here. Send the image as base64.',
      input: null,
    });
  }
  // Elsewhere a member of that name is one of those that mean nothing, and nothing has looked at it.
  return source.type === 'content'
    ? contentRefusal(source.content, [...path, at, 'source', 'content'], modalities)
    : null;
};
