import type { Code } from '../../errors.ts';

/** What any route may answer that has a model write an answer (contract E.2). */
export const answerErrors: readonly Code[] = [
  'insufficient_credits',
  'organization_suspended',
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

/** The same where no answer is written: nobody pays or judges the content, and no context has to hold it. */
const ofAnswers: ReadonlySet<Code> = new Set<Code>([
  'insufficient_credits',
  'content_refused',
  'context_length_exceeded',
]);
export const callErrors = answerErrors.filter((code) => !ofAnswers.has(code));
