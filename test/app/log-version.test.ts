import { expect, test } from 'vitest';
import { refuseLaterLog, signLog } from '../../src/app/log/log-version.ts';
import { systemClock } from '../../src/clock.ts';
import { memoryStore } from '../support/memory-store.ts';

const versionsIn = (store: ReturnType<typeof memoryStore>) => store.log.map(({ data }) => data.version);

test('each release signs a log once; a patch of it need not, and may be taken back', async () => {
  const store = memoryStore();
  await refuseLaterLog(store, '0.2.0');
  for (const version of ['0.2.0', '0.2.0', '0.2.7', '0.2.1', '0.10.0', '1.0.0', '1.0.3']) {
    await refuseLaterLog(store, version);
    await signLog(store, systemClock, version);
  }
  expect(versionsIn(store)).toEqual(['0.2.0', '0.10.0', '1.0.0']);
});

test('an earlier release is refused, in one sentence that says what to start', async () => {
  const store = memoryStore();
  await signLog(store, systemClock, '0.10.1');
  for (const earlier of ['0.9.0', '0.2.0']) {
    const sentence = `This data was written by Weir 0.10.1, and this is Weir ${earlier}, which may not know all that is in it: start 0.10.1 or a later one, or restore a backup of before the upgrade.`;
    await expect(refuseLaterLog(store, earlier)).rejects.toThrow(sentence);
    await expect(signLog(store, systemClock, earlier)).rejects.toThrow(sentence);
  }
  expect(versionsIn(store)).toEqual(['0.10.1']);
});

test('of two that begin at once one signs', async () => {
  const store = memoryStore();
  await Promise.all(['0.2.0', '0.2.0', '0.2.1'].map((version) => signLog(store, systemClock, version)));
  expect(versionsIn(store)).toHaveLength(1);
});
