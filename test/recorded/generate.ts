import { seenOfAnswer, seenOfRequest } from './corpus.ts';
import { generatedAnswers, generatedBodies } from './mutations.ts';
import { recordedStage } from './stage.ts';

/**
 * Prints what becomes of generated bodies or answers, a line each:
 * `npx tsx test/recorded/generate.ts requests|answers FIRST COUNT [full]`. Run it in two checkouts and compare the files, with
 * `full` for the few numbers that differ.
 */
const [kind = 'requests', first = '0', count = '1000', full] = process.argv.slice(2);
const stage = await recordedStage();
const bodyOf = generatedBodies();
const answerOf = generatedAnswers();
for (let number = Number(first); number < Number(first) + Number(count); number++) {
  const made = kind === 'answers' ? answerOf(number) : { ...bodyOf(number), ways: {} };
  const seen = await ('upstream' in made ? seenOfAnswer(stage, made) : seenOfRequest(stage, made));
  const line = full === undefined ? seen.map(({ name, short }) => `${name} ${short}`).join(' | ') : { ...made, seen };
  process.stdout.write(`${number} ${typeof line === 'string' ? line : JSON.stringify(line, null, 1)}\n`);
}
await stage.close();
