/** Outermost members, in several APIs, that no model reads. */
export const settings = [
  'model',
  'tools',
  'tool_choice',
  'metadata',
  'user',
  'policy_ids',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prompt_cache_options',
  'stream_options',
  'reasoning',
];
