import type { Cancellation } from '../../cancellation.ts';
import type { Clock } from '../../clock.ts';
import type { Hold } from '../../http/route.ts';
import type { AnswerCount } from '../account/answer-count.ts';
import type { GenerateOptions } from '../upstream/port.ts';
import type { AnswerForm } from './answer-form.ts';
import type { AnswerJudge } from './answer-judge.ts';
import type { After } from './event-output.ts';

/** What remains of a request given to its upstream, without the request, which may be large. */
export interface Generation {
  readonly form: AnswerForm;
  readonly estimatedTokens: number;
  readonly account: AnswerCount;
  readonly hold: Hold;
  readonly requestId: string;
  readonly trace: GenerateOptions['trace'];
  readonly signal: Cancellation;
  /** Null without response policies. */
  readonly watch: AnswerJudge | null;
}

export interface Timing {
  readonly clock: Clock;
  readonly after: After;
}
