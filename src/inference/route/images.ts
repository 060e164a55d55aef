import type { Task } from './admission.ts';

/** What an image is called in the three APIs. */
const kinds: ReadonlySet<unknown> = new Set(['image', 'image_url', 'input_image', 'computer_screenshot']);

/** What a tool was called with is data, whatever it says. */
const isData = (of: { readonly type?: unknown }, name: string): boolean =>
  name === 'input' && (of.type === 'tool_use' || of.type === 'server_tool_use');

const imagesIn = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0;
  const fields = value as { readonly type?: unknown };
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + imagesIn(each), 0);
  if (kinds.has(fields.type)) return 1;
  return Object.entries(fields).reduce((sum, [name, member]) => sum + (isData(fields, name) ? 0 : imagesIn(member)), 0);
};

/**
 * The images of a request, wherever they are: in results of tools, in documents, on screens.
 * @param price of an image; where there is none nobody has to count
 */
export const imagesOf = ({ strict, passed }: Task<unknown>, price: string | undefined): number => {
  if (price === undefined || Number(price) === 0) return 0;
  if (strict !== null) return imagesIn(strict.request.messages);
  const { messages, input, system } = JSON.parse(passed.bytes().toString()) as Readonly<Record<string, unknown>>;
  return imagesIn(messages ?? input) + imagesIn(system);
};
