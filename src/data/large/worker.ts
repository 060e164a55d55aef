import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../clock.ts';
import { errorText } from '../../error-text.ts';
import { thisThread } from '../../threads/deadline.ts';
import { chatRules } from '../api/chat/chat-rules.ts';
import { embeddingsRules } from '../api/embeddings/embeddings-rules.ts';
import { countRules, messagesRules } from '../api/messages/messages-rules.ts';
import { responsesRules } from '../api/responses/responses-rules.ts';
import { type LargeApi, type LargeJob, type LargeRead, memoryOf, readLarge } from '../request/handed-over.ts';
import { type Prepare, preparing } from '../request/prepare.ts';
import { connect } from '../upstream/connect.ts';
import { type DeclaredModel, withoutCredentials } from '../upstream/models/models.ts';

// As declared: this thread calls no upstream.
const models = connect(withoutCredentials(workerData as readonly DeclaredModel[]), { clock: systemClock });

const readers: Readonly<Record<LargeApi, Prepare<unknown>>> = {
  messages: preparing(models, messagesRules),
  count: preparing(models, countRules),
  'chat.completions': preparing(models, chatRules),
  responses: preparing(models, responsesRules),
  embeddings: preparing(models, embeddingsRules),
};

const read = (job: LargeJob): LargeRead => {
  try {
    return readLarge(readers[job.api], models, job);
  } catch (error) {
    return { fault: errorText(error).stack };
  }
};

parentPort?.on('message', (job: LargeJob) => {
  const made = read(job);
  parentPort?.postMessage(made, memoryOf(made));
});
parentPort?.postMessage(thisThread());
