import { answers, requests, seenOfAnswer, seenOfRequest, waysOf, write } from './corpus.ts';
import { recordedStage } from './stage.ts';

/** Writes down what the gateway makes of every recorded request and answer now: `npx tsx test/recorded/record.ts`. */
const stage = await recordedStage();
const asked = [];
for (const each of requests()) asked.push({ ...each, ways: waysOf(await seenOfRequest(stage, each)) });
write('requests', asked);
const answered = [];
for (const each of answers()) answered.push({ ...each, ways: waysOf(await seenOfAnswer(stage, each)) });
write('answers', answered);
await stage.close();
