import type { Task } from './admission.ts';

/** What an image is called in the three APIs. */
const kinds: ReadonlySet<unknown> = new Set(['image', 'image_url', 'input_image']);

const imagesIn = (value: unknown): number => {
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + imagesIn(each), 0);
  if (typeof value !== 'object' || value === null) return 0;
  const { type, content } = value as { type?: unknown; content?: unknown };
  return kinds.has(type) ? 1 : imagesIn(content);
};

/**
 * The images of a request, also those in results of tools.
 * @param price of an image; where there is none nobody has to count
 */
export const imagesOf = ({ strict, passed }: Task<unknown>, price: string | undefined): number => {
  if (price === undefined || Number(price) === 0) return 0;
  if (strict !== null) return imagesIn(strict.request.messages);
  const { messages, input } = JSON.parse(passed.bytes().toString()) as { messages?: unknown; input?: unknown };
  return imagesIn(messages ?? input);
};
