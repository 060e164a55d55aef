/**
 * Members that estimates do not count as JSON, because they are counted otherwise or no model reads them. Servers read
 * members that no API names, such as `chat_template_kwargs`, so unlisted ones count.
 */

const settings = [
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

export const known = {
  chat: [
    ...settings,
    'messages',
    'functions',
    'response_format',
    'prediction',
    'stop',
    'logit_bias',
    'modalities',
    'audio',
    'function_call',
    'reasoning_effort',
    'verbosity',
    'web_search_options',
  ],
  responses: [
    ...settings,
    'input',
    'instructions',
    'text',
    'include',
    'truncation',
    'context_management',
    'moderation',
  ],
  messages: [
    ...settings,
    'messages',
    'system',
    'output_config',
    'output_format',
    'stop_sequences',
    'thinking',
    'context_management',
    'inference_geo',
    'speed',
    'cache_control',
    'diagnostics',
    'betas',
  ],
  format: ['type', 'json_schema'],
  schema: ['type', 'name', 'schema'],
  tool: ['type', 'function'],
  function: ['name', 'description', 'parameters'],
  call: ['id', 'type', 'function'],
  called: ['name', 'arguments'],
  responsesTool: ['type', 'name', 'description', 'parameters'],
  messagesTool: ['type', 'name', 'description', 'input_schema', 'cache_control'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Longer names and ids count beyond the constant of each message. */
export const shortLabelBytes = 64;
