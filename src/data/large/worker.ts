import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../clock.ts';
import { errorText } from '../../error-text.ts';
import { thisThread } from '../../threads/deadline.ts';
import { chatReading } from '../api/chat/chat-reading.ts';
import { countReading } from '../api/messages/count-reading.ts';
import { messagesReading } from '../api/messages/messages-reading.ts';
import { responsesReading } from '../api/responses/responses-reading.ts';
import { type LargeApi, type LargeJob, type LargeRead, memoryOf, readLarge } from '../request/read-large.ts';
import { connect } from '../upstream/connect.ts';
import { type DeclaredModel, withoutCredentials } from '../upstream/models/models.ts';

// As declared: this thread calls no upstream.
const models = connect(withoutCredentials(workerData as readonly DeclaredModel[]), { clock: systemClock });

const [messages, count, chat, responses] = [
  messagesReading(models),
  countReading(models),
  chatReading(models),
  responsesReading(models),
] as const;

const readers: Readonly<Record<LargeApi, (job: LargeJob) => LargeRead<unknown, unknown>>> = {
  messages: (job) => readLarge(messages, models, job),
  count: (job) => readLarge(count, models, job),
  'chat.completions': (job) => readLarge(chat, models, job),
  responses: (job) => readLarge(responses, models, job),
};

const read = (job: LargeJob): LargeRead<unknown, unknown> => {
  try {
    return readers[job.api](job);
  } catch (error) {
    return { fault: errorText(error).stack };
  }
};

parentPort?.on('message', (job: LargeJob) => {
  const made = read(job);
  parentPort?.postMessage(made, memoryOf(made));
});
parentPort?.postMessage(thisThread());
