/** The upstream's own search, as the messages API declares it (contract G.6, G.7). */
export interface WebSearch {
  readonly type: typeof searchType;
  readonly name: string;
  readonly max_uses?: number | undefined;
  readonly allowed_domains?: readonly string[] | undefined;
  readonly user_location?: Readonly<Record<string, unknown>> | undefined;
  /** For upstreams of other APIs. */
  readonly search_context_size?: string | undefined;
}

export const searchType = 'web_search_20250305';
export const searchName = 'web_search';

export const isWebSearch = (tool: object): tool is WebSearch => (tool as Partial<WebSearch>).type === searchType;

export const webSearchIn = (tools: readonly object[] | undefined): WebSearch | undefined => tools?.find(isWebSearch);

/** The tools that the caller runs; undefined if there are none. */
export const functionsIn = <T extends object>(
  tools: readonly (T | WebSearch)[] | undefined,
): readonly T[] | undefined => {
  const functions = tools?.filter((tool): tool is T => !isWebSearch(tool));
  return functions?.length ? functions : undefined;
};
