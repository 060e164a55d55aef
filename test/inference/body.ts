/** A valid body with some fields replaced. */
export const body = (fields: object = {}): Record<string, unknown> => ({
  model: 'm',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hello' }],
  ...fields,
});

export const user = (...content: readonly unknown[]) => ({ role: 'user', content });
export const assistant = (...content: readonly unknown[]) => ({ role: 'assistant', content });
export const text = (words: string) => ({ type: 'text', text: words });
export const toolUse = (id: string) => ({ type: 'tool_use', id, name: 'weather', input: { city: 'Bern' } });
export const toolResult = (id: string, fields: object = {}) => ({ type: 'tool_result', tool_use_id: id, ...fields });
export const tool = (name: string, fields: object = {}) => ({ name, input_schema: { type: 'object' }, ...fields });
export const image = (data: string, media_type = 'image/png') => ({
  type: 'image',
  source: { type: 'base64', media_type, data },
});
