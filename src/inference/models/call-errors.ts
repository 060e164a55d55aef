import type { Code } from '../../errors.ts';

/** What any route may answer that asks a model (contract E.2). */
export const callErrors: readonly Code[] = [
  'model_locked',
  'content_refused',
  'model_not_found',
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

/** An upstream says 400 where a gateway that has judged itself says 422 (contract L.4). */
export const foreignErrors: readonly (readonly [Code, number])[] = [['context_length_exceeded', 400]];
