import { z } from 'zod';
import { list } from './list-schema.ts';
import { taggedUnion, textOr } from './tagged-union.ts';

const maxImageBytes = 5 * 1024 * 1024;
const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

const invalidMedia = { params: { code: 'invalid_media' } } as const;

/** One character class without groups: a linear scan of a 30 MB string without backtracking. */
const base64Characters = /^[A-Za-z0-9+/]+={0,2}$/;
const isBase64 = (text: string): boolean => text.length % 4 === 0 && base64Characters.test(text);
const decodedBytes = (base64: string): number =>
  (base64.length / 4) * 3 - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0);

const base64 = z
  .string()
  .refine(isBase64, { ...invalidMedia, error: 'Must be base64.', abort: true })
  .meta({ pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$' });
const mediaType = (types: readonly string[]) =>
  z
    .string()
    .refine((type) => types.includes(type), { ...invalidMedia, error: `Must be ${types.join(' or ')}.` })
    .meta({ enum: [...types] });

/** Without credentials. The operator decides whether it is fetched (contract G.2). */
const isHttpsUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return url.protocol === 'https:' && url.username === '' && url.password === '';
};

/** Contract G.2. The upstream decides whether the bytes are an image. */
export const imageSource = taggedUnion('type', 'unsupported_content_block', [
  z.looseObject({
    type: z.literal('base64'),
    media_type: mediaType(imageTypes),
    data: base64.refine((data) => decodedBytes(data) <= maxImageBytes, {
      ...invalidMedia,
      error: 'The image has more than 5 MiB.',
    }),
  }),
  z.looseObject({
    type: z.literal('url'),
    url: z
      .string()
      .max(2048)
      .refine(isHttpsUrl, { ...invalidMedia, error: 'Must be an https URL.' })
      .meta({ pattern: '^https://', examples: ['https://example.org/image.png'] }),
  }),
]);

/** Contract G.2. `parts`: blocks of a `content` source. Unspecified: PDFs by URL are refused. */
export const documentSource = <T extends z.ZodType>(parts: T) =>
  taggedUnion('type', 'unsupported_content_block', [
    z.looseObject({ type: z.literal('base64'), media_type: mediaType(['application/pdf']), data: base64 }),
    z.looseObject({ type: z.literal('text'), media_type: mediaType(['text/plain']), data: z.string() }),
    z.looseObject({ type: z.literal('content'), content: textOr(z.string(), list(parts)) }),
  ]);
