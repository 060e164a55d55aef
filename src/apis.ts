/** The APIs of models, as rules of policies and accounts name them (contract H, M.2). */
export const apis = ['messages', 'chat.completions', 'responses', 'embeddings'] as const;
export type Api = (typeof apis)[number];

/** Those whose answers are text. */
export type TextApi = Exclude<Api, 'embeddings'>;
