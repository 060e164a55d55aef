import type { Code } from '../../errors.ts';

export const callErrors: readonly Code[] = [
  'model_locked',
  'content_refused',
  'model_not_found',
  'unsupported_model',
  'policy_not_found',
  'policy_not_published',
  'policy_violation',
  'policy_evaluation_failed',
  'unsupported_parameter',
  'unsupported_tool',
  'unsupported_content_block',
  'context_length_exceeded',
  'invalid_media',
  'provider_error',
  'provider_overloaded',
  'model_not_ready',
  'provider_timeout',
];

/** Upstreams send 400 where Weir sends 422 (contract L.4). */
export const foreignErrors: readonly (readonly [Code, number])[] = [['context_length_exceeded', 400]];
