import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { startEmbedded } from '../../src/embedded/index.ts';
import { freshDir } from '../embedded/store-under-test.ts';
import { eventStoreClient } from './eventstore-client.ts';
import { asked, type Questions } from './recorded/asking.ts';
import { largeAppends } from './recorded/large-appends.ts';
import { metadataOnly } from './recorded/metadata-only.ts';
import { positions } from './recorded/positions.ts';
import { words } from './recorded/words.ts';
import { embeddedTest, useServer } from './target.ts';

useServer(eventStoreClient);

const recorded: Readonly<Record<string, Questions>> = {
  'the position beside an event': positions,
  'the words of a refusal': words,
  'a large append': largeAppends,
  'a stream that has only metadata': metadataOnly,
};

describe.each(Object.entries(recorded))('%s', (_, questions) => {
  test.each(Object.entries(questions))('%s', async (_name, question) => {
    expect(await asked(question)).toEqual(question.answer);
  });
});

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = fileURLToPath(new URL('../../../shared/eventstore-cases/', import.meta.url));
const present = existsSync(`${folder}run.mjs`);
if (!present) process.stderr.write(`SKIPPED: the recorded answers of a real node are not in ${folder}\n`);

embeddedTest.skipIf(!present)(
  'every recorded question is answered as a real node did',
  async () => {
    const store = await startEmbedded({ dir: freshDir() });
    const child = spawn(
      process.execPath,
      [`${folder}run.mjs`, store.endpoint, '--against', `${folder}real-node.json`],
      {
        cwd: root,
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
    await once(child, 'close');
    await store.close();
    // The differences come first, so a failure shows them.
    expect(printed).toBe('112 passed, 0 failed\n');
  },
  60_000,
);
