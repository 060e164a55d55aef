import type { Fields } from '../transport/fields.ts';

/** Members of chat completions that are not written by the model. */
export const chatLabels: readonly string[] = ['role', 'id', 'type'];
/** Likewise of the items of a response. What was thought in secret comes as bytes that nobody can count by. */
export const itemLabels: readonly string[] = [
  ...chatLabels,
  'status',
  'call_id',
  'annotations',
  'logprobs',
  'encrypted_content',
];

/** UTF-8 bytes of all texts in a value that the model wrote. */
export const writtenIn = (value: unknown, labels: readonly string[]): number => {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null) return 0;
  let bytes = 0;
  for (const [name, inner] of Object.entries(value as Fields)) {
    if (Array.isArray(value) || !labels.includes(name)) bytes += writtenIn(inner, labels);
  }
  return bytes;
};

/** The same of a whole answer, of whichever API, without what its outermost members say of it. */
export const writtenBytesIn = (answer: Buffer): number => {
  const { content, choices, output } = JSON.parse(answer.toString('utf8')) as Fields;
  return writtenIn([content, choices, output], [...itemLabels, 'finish_reason', 'citations', 'signature']);
};
