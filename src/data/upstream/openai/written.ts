import type { Fields } from '../transport/fields.ts';

/** Members of chat completions that are not written by the model. */
export const chatLabels: readonly string[] = ['role', 'id', 'type'];
export const itemLabels: readonly string[] = [
  ...chatLabels,
  'status',
  'call_id',
  'annotations',
  'logprobs',
  'encrypted_content',
];

export const writtenIn = (value: unknown, labels: readonly string[]): number => {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null) return 0;
  let bytes = 0;
  for (const [name, inner] of Object.entries(value as Fields)) {
    if (Array.isArray(value) || !labels.includes(name)) bytes += writtenIn(inner, labels);
  }
  return bytes;
};

export const writtenBytesIn = (answer: Buffer): number => {
  const { content, choices, output } = JSON.parse(answer.toString('utf8')) as Fields;
  return writtenIn([content, choices, output], [...itemLabels, 'finish_reason', 'citations', 'signature']);
};
