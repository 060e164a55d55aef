import { seenOfRequest } from './corpus.ts';
import { generatedBodies } from './mutations.ts';
import { recordedStage } from './stage.ts';

/**
 * Prints what becomes of generated bodies, a line each: `npx tsx test/recorded/generate.ts FIRST COUNT [FULL]`. Run it in two
 * checkouts and compare the files, with FULL for the few numbers that differ.
 */
const [first = '0', count = '1000', full] = process.argv.slice(2);
const stage = await recordedStage();
const bodyOf = generatedBodies();
for (let number = Number(first); number < Number(first) + Number(count); number++) {
  const body = bodyOf(number);
  const seen = await seenOfRequest(stage, { ...body, ways: {} });
  const line = full === undefined ? seen.map(({ name, short }) => `${name} ${short}`).join(' | ') : { ...body, seen };
  process.stdout.write(`${number} ${typeof line === 'string' ? line : JSON.stringify(line, null, 1)}\n`);
}
await stage.close();
