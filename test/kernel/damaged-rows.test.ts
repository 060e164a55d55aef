import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { Packr } from 'msgpackr';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { KeptCheckpoint } from '../../src/kernel/followers/checkpoint.ts';
import { shareSubscription } from '../../src/kernel/followers/shared-subscription.ts';
import { lookAhead } from '../../src/kernel/look-ahead.ts';
import { openReadModels, type Projection, type ReadModels } from '../../src/kernel/projections/projection.ts';
import { RowsAbsent } from '../../src/kernel/projections/read-models.ts';
import type { Look } from '../../src/kernel/rows/row-file.ts';
import { openRows, type RowStore, type Table, table } from '../../src/kernel/rows/rows.ts';
import type { Ours } from '../../src/kernel/store/ownership.ts';
import type { EventStore } from '../../src/kernel/store/store.ts';
import { onSignal } from '../../src/telemetry.ts';
import { event } from '../support/events.ts';
import { type MemoryStore, memoryStore } from '../support/memory-store.ts';

interface Rule {
  readonly stream: string;
  readonly text: string;
}
const rules = table<Rule>('rules');
const ruleNames = table<{ readonly stream: string }>('rule-names');
const sums = table<{ readonly sum: number }>('sums');

const ruling: Projection = {
  name: 'ruling',
  version: 1,
  categories: ['rule'],
  tables: [rules, ruleNames],
  apply({ stream, data }, rows) {
    rows.put(rules, stream, { stream, text: `${stream} says ${data.n} ${'and so on '.repeat(20)}` });
    rows.put(ruleNames, `${data.n}`, { stream });
  },
};
const adding: Projection = {
  name: 'adding',
  version: 1,
  categories: ['rule'],
  tables: [sums],
  apply({ stream, data }, rows) {
    rows.put(sums, stream, { sum: (rows.get(sums, stream)?.sum ?? 0) + (data.n as number) });
  },
};
const all = [ruling, adding];
const inItsPlace = (name: string): void => {
  rmSync(join(dir, name), { force: true });
  mkdirSync(join(dir, name));
};
const many = 300;
const nameOf = (n: number) => `rule-${String(n).padStart(4, '0')}`;

let cleanUps: (() => Promise<void> | void)[] = [];
let store: MemoryStore;
let dir: string;
let file: string;
const told: string[] = [];
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'weir-damaged-'));
  file = join(dir, 'data.mdb');
  cleanUps.push(() => rmSync(dir, { recursive: true, force: true }));
  cleanUps.push(
    onSignal((name, signal) => {
      if ('projections' in signal) told.push(`${name} ${signal.projections}`);
      if (name === 'rows.remade') told.push(`${name} ${(signal as { projection: string }).projection}`);
    }),
  );
  store = memoryStore();
  for (let n = 0; n < many; n++) await store.append(nameOf(n), [event(n)], 'no_stream');
});
afterEach(async () => {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  cleanUps = [];
  told.length = 0;
});

/** The store's own events are not ours. */
const ours: Ours = (batch) => batch.filter(({ type }) => !type.startsWith('$'));

const openModels = async (events: EventStore = store, damaged = () => {}, looked?: Look): Promise<ReadModels> => {
  const models = await openReadModels({ ours, dir, store: events, logId: 'log', projections: all, damaged, looked });
  cleanUps.push(() => models.close().catch(() => {}));
  return models;
};
const closed = async (): Promise<void> => {
  const models = await openModels();
  await models.close();
  told.length = 0;
};
/** What is shown of all rules, by both ways of reading. */
const shown = (models: ReadModels): number => {
  const listed = models.range(rules, { prefix: 'rule-', limit: many + 10 });
  for (const { key, row } of listed) {
    expect(row.stream).toBe(key);
    expect(models.get(rules, key)).toEqual(row);
  }
  return listed.length;
};

/** Changes bytes of the file in place, where this text is, the one that comes last. */
const changeAt = (text: string, change: (bytes: Buffer, at: number) => void): void => {
  const bytes = readFileSync(file);
  const at = bytes.lastIndexOf(text);
  expect(at).toBeGreaterThan(0);
  change(bytes, at);
  writeFileSync(file, bytes);
};
const inValue = `${nameOf(7)} says 7`;

/** The store, whose subscriptions but the first one deliver nothing before they may. */
const holdingRepairs = (): { readonly events: EventStore; letGo(): void; readonly begun: Promise<void> } => {
  let subscriptions = 0;
  let letGo = (): void => {};
  const isFree = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const subscribe: EventStore['subscribe'] = (options) => {
    if (++subscriptions === 1) return store.subscribe(options);
    return store.subscribe({
      ...options,
      async deliver(batch) {
        begin();
        await isFree;
        await options.deliver(batch);
      },
    });
  };
  return { events: { ...store, subscribe } as EventStore, letGo: () => letGo(), begun };
};

describe('a row that is not as it was written', () => {
  test('is shown to nobody: its projection alone is made again, while the others go on', async () => {
    await closed();
    changeAt(inValue, (bytes, at) => {
      bytes[at + 2]! ^= 1;
    });
    const { events, letGo } = holdingRepairs();
    const models = await openModels(events);
    expect(told).toEqual(['rows.damaged ruling']);
    expect(models.absent).toEqual(['ruling']);
    for (const read of [
      () => models.get(rules, nameOf(1)),
      () => models.get(ruleNames, '1'),
      () => models.range(rules, { prefix: '', limit: 1 }),
    ]) {
      expect(read).toThrow(RowsAbsent);
    }
    expect(models.get(sums, nameOf(5))).toEqual({ sum: 5 });
    // What comes meanwhile is not missed by anybody.
    const { position } = await store.append(nameOf(many), [event(many)], 'no_stream');
    expect(await models.reached(position, 5_000)).toBe(true);
    expect(models.get(sums, nameOf(many))).toEqual({ sum: many });
    expect(await models.reached(position, 10, [rules])).toBe(false);
    letGo();
    await models.whole([rules]);
    expect(models.absent).toEqual([]);
    expect(shown(models)).toBe(many + 1);
    expect(await models.reached(position, 5_000, [rules])).toBe(true);
    const next = await store.append(nameOf(3), [event(33)], 0);
    expect(await models.reached(next.position, 5_000, [rules])).toBe(true);
    expect(models.get(ruleNames, '33')).toEqual({ stream: nameOf(3) });
    expect(told).toEqual(['rows.damaged ruling', 'rows.remade ruling']);
  });

  test('is found while it is served too, and what was read beside it is forgotten', async () => {
    await closed();
    const { events, letGo, begun } = holdingRepairs();
    const damaged = vi.fn();
    const models = await openModels(events, damaged);
    expect(shown(models)).toBe(many);
    changeAt(inValue, (bytes, at) => {
      bytes[at + 2]! ^= 1;
    });
    models.refresh();
    expect(() => models.range(rules, { prefix: '', limit: many })).toThrow(RowsAbsent);
    expect(damaged).toHaveBeenCalledExactlyOnceWith([rules, ruleNames]);
    expect(() => models.get(ruleNames, '1')).toThrow(RowsAbsent);
    await begun;
    letGo();
    await models.whole([rules]);
    expect(shown(models)).toBe(many);
    expect(told).toEqual(['rows.damaged ruling', 'rows.remade ruling']);
    // And it is another one's affair that it was.
    await models.close();
    told.length = 0;
    expect(shown(await openModels())).toBe(many);
    expect(told).toEqual([]);
  });

  test('is found by the projection that goes on from it', async () => {
    await closed();
    const models = await openModels();
    const bytes = readFileSync(file);
    // Those of the rows of sums: they begin with their mark, and their name stands before it.
    const key = bytes.lastIndexOf(Buffer.concat([Buffer.from(nameOf(9)), Buffer.from([0xc1])]));
    const handle = await openFile(file, 'r+');
    await handle.write(Buffer.from([bytes[key + 17]! ^ 4]), 0, 1, key + 17);
    await handle.close();
    const { position } = await store.append(nameOf(9), [event(1)], 0);
    await vi.waitFor(() => expect(told).toContain('rows.damaged adding'));
    await models.whole([sums]);
    expect(await models.reached(position, 5_000, [sums])).toBe(true);
    expect(models.get(sums, nameOf(9))).toEqual({ sum: 10 });
    expect(models.stopped).toEqual([]);
  });

  test('is found again among those that were made again', async () => {
    await closed();
    changeAt(inValue, (bytes, at) => {
      bytes[at + 2]! ^= 1;
    });
    const models = await openModels();
    await models.whole([rules]);
    changeAt(inValue, (bytes, at) => {
      bytes[at + 2]! ^= 1;
    });
    models.refresh();
    expect(() => models.get(rules, nameOf(7))).toThrow(RowsAbsent);
    await models.whole([rules]);
    expect(shown(models)).toBe(many);
  });
});

describe('at the open', () => {
  test.each([
    ['a key that stands in order and is another', nameOf(8), 'ruling'],
    ['the checkpoint of a projection', 'adding\u00c1', 'adding'],
    ['the name of a table', 'rule-names', 'ruling'],
  ])('%s is damage', async (_, text, whose) => {
    await closed();
    // After a crash nobody knows the sums of the pages.
    rmSync(join(dir, 'data.sums'));
    const needle =
      text === nameOf(8) ? Buffer.concat([Buffer.from(text), Buffer.from([0xc1])]) : Buffer.from(text, 'latin1');
    const bytes = readFileSync(file);
    let at = bytes.indexOf(needle);
    expect(at).toBeGreaterThan(0);
    for (; at > 0; at = bytes.indexOf(needle, at + 1)) {
      if (text === 'adding\u00c1') bytes[at + 10]! ^= 1;
      else bytes.write('x', at + text.length - 1);
    }
    writeFileSync(file, bytes);
    const models = await openModels();
    expect(told.join()).toContain(whose);
    await models.whole(models.tables);
    expect(shown(models)).toBe(many);
    expect(models.get(sums, nameOf(8))).toEqual({ sum: 8 });
    expect(models.get(ruleNames, '8')).toEqual({ stream: nameOf(8) });
  });

  test('damage in two rows is found when one of them is read', async () => {
    await closed();
    const models = await openModels();
    const bytes = readFileSync(file);
    const descriptor = await openFile(file, 'r+');
    await descriptor.write(Buffer.from('X'), 0, 1, bytes.indexOf(`${nameOf(8)} says`));
    const sum = bytes.lastIndexOf(Buffer.concat([Buffer.from(nameOf(9)), Buffer.from([0xc1])])) + 17;
    await descriptor.write(Buffer.from([bytes[sum]! ^ 4]), 0, 1, sum);
    await descriptor.close();
    models.refresh();
    expect(() => models.get(rules, nameOf(8))).toThrow(RowsAbsent);
    await models.whole(models.tables);
    expect(told.filter((line) => line.startsWith('rows.damaged'))).toEqual([
      'rows.damaged ruling',
      'rows.damaged adding',
    ]);
    expect(models.get(sums, nameOf(9))).toEqual({ sum: 9 });
    await models.close();
  });

  test.each([
    ['zeros', () => writeFileSync(file, Buffer.alloc(readFileSync(file).length))],
    ['half of it', () => truncateSync(file, Math.floor(readFileSync(file).length / 2))],
    ['no file of LMDB', () => writeFileSync(file, 'something else entirely'.repeat(1_000))],
    ['a byte', () => writeFileSync(file, 'x')],
    ['a folder', () => inItsPlace('data.mdb')],
    ['beside a folder for its lock', () => inItsPlace('lock.mdb')],
    ['beside a folder for its sums', () => inItsPlace('data.sums')],
  ])('a file that is %s is made again', async (_, change) => {
    await closed();
    change();
    const models = await openModels();
    await models.whole(models.tables);
    expect(told[0]).toMatch(/^rows\.damaged /);
    expect(shown(models)).toBe(many);
    expect(models.get(sums, nameOf(8))).toEqual({ sum: 8 });
  });

  test('has all of the file looked at while it is served: a range that is just short is noticed', async () => {
    await closed();
    const models = await openModels();
    const bytes = readFileSync(file);
    const descriptor = await openFile(file, 'r+');
    // Of a page that leads to others: where its list of them ends.
    const branch = 1;
    let cut = 0;
    for (let at = 2 * 4_096; at < bytes.length; at += 4_096) {
      const lower = bytes.readUInt16LE(at + 20);
      if (bytes.readUInt16LE(at + 18) !== branch || lower < 6) continue;
      await descriptor.write(Buffer.from([lower - 2]), 0, 1, at + 20);
      cut += 1;
    }
    expect(cut).toBeGreaterThan(0);
    models.refresh();
    expect(models.range(rules, { prefix: '', limit: 1_000 }).length).toBeLessThan(many);
    await descriptor.write(Buffer.from('X'), 0, 1, bytes.indexOf(`${nameOf(8)} says`));
    await descriptor.close();
    models.refresh();
    expect(() => models.get(rules, nameOf(8))).toThrow(RowsAbsent);
    expect(() => models.get(sums, nameOf(8))).toThrow(RowsAbsent);
    await models.whole(models.tables);
    expect(told).toContain('rows.damaged adding');
    expect(shown(models)).toBe(many);
    expect(models.range(sums, { prefix: '', limit: 1_000 })).toHaveLength(many);
    await models.close();
  });

  test('what was met while it was read is looked for in all of the file at the next start', async () => {
    await closed();
    const models = await openModels();
    expect(readdirSync(dir)).toContain('data.sums');
    const bytes = readFileSync(file);
    const descriptor = await openFile(file, 'r+');
    const at = bytes.indexOf(`${nameOf(8)} says`);
    await descriptor.write(Buffer.from('X'), 0, 1, at);
    await descriptor.close();
    models.refresh();
    expect(() => shown(models)).toThrow(RowsAbsent);
    await models.whole(models.tables);
    await models.close();
    expect(readdirSync(dir)).not.toContain('data.sums');
    const again = await openModels();
    expect(shown(again)).toBe(many);
    await again.close();
    expect(readdirSync(dir)).toContain('data.sums');
  });

  test('a page that is an older one is noticed, though all in it is sound', async () => {
    await closed();
    const older = readFileSync(file);
    let models = await openModels();
    for (let n = 0; n < many; n++) await store.append(nameOf(n), [event(1_000)], 0);
    const { position } = await store.append(nameOf(0), [event(1_000)], 1);
    await models.reached(position, 5_000);
    await models.close();
    const newer = readFileSync(file);
    let replaced = 0;
    for (let at = 2 * 4_096; at < older.length; at += 4_096) {
      const isSame = older.compare(newer, at, at + 4_096, at, at + 4_096) === 0;
      // Of the tree where it is now: kind, number and place are right.
      if (isSame || newer.readUInt16LE(at + 18) !== 2 || older.readUInt16LE(at + 18) !== 2) continue;
      older.copy(newer, at, at, at + 4_096);
      replaced += 1;
    }
    expect(replaced).toBeGreaterThan(0);
    writeFileSync(file, newer);
    models = await openModels();
    await models.whole(models.tables);
    for (let n = 1; n < many; n++) expect(models.get(sums, nameOf(n))).toEqual({ sum: n + 1_000 });
  });

  test('a flipped bit in a page that nobody uses harms nobody', async () => {
    await closed();
    const bytes = readFileSync(file);
    const pages = bytes.length / 4_096;
    const quiet: number[] = [];
    for (let page = 2; page < pages; page++) {
      const changed = Buffer.from(bytes);
      changed[page * 4_096 + 100]! ^= 1;
      writeFileSync(file, changed);
      copyFileSync(file, `${file}.changed`);
      const models = await openModels();
      await models.whole(models.tables);
      expect(shown(models)).toBe(many);
      if (told.length === 0) quiet.push(page);
      await models.close();
      told.length = 0;
      // As it was closed at first.
      writeFileSync(file, bytes);
      rmSync(join(dir, 'data.sums'));
      await (await openModels()).close();
      if (quiet.length > 0) break;
      writeFileSync(file, bytes);
    }
    expect(quiet.length).toBeGreaterThan(0);
  });
});

describe('what was found in a thread while the store was opened', () => {
  test('is believed of the file that was looked at', async () => {
    await closed();
    const looked = (await lookAhead(dir))!;
    expect(looked).toMatchObject({ found: { damaged: new Map() }, lost: undefined });
    const damaged = new Map([['sums', new Error('as if')]]);
    const models = await openModels(store, () => {}, { ...looked, found: { damaged, left: [] } });
    expect(told).toEqual(['rows.damaged adding']);
    await models.whole([sums]);
    expect(models.get(sums, nameOf(5))).toEqual({ sum: 5 });
  });

  test('is what is there', async () => {
    await closed();
    changeAt(inValue, (bytes, at) => {
      bytes[at + 2]! ^= 1;
    });
    expect([...(await lookAhead(dir))!.found.damaged.keys()]).toEqual(['rules']);
    writeFileSync(file, Buffer.alloc(9_000));
    expect((await lookAhead(dir))!.lost).toMatchObject({ message: expect.stringContaining('meta pages') });
  });

  test('is nothing to go by where somebody has written since', async () => {
    await closed();
    const looked = await lookAhead(dir);
    changeAt(inValue, (bytes, at) => {
      bytes[at + 2]! ^= 1;
    });
    const models = await openModels(store, () => {}, looked);
    expect(told).toEqual(['rows.damaged ruling']);
    await models.whole([rules]);
    expect(shown(models)).toBe(many);
  });
});

describe('rows that are being made again', () => {
  test('go on behind a restart from where they were, and are shown to nobody before', async () => {
    await closed();
    changeAt(inValue, (bytes, at) => {
      bytes[at + 2]! ^= 1;
    });
    const first = holdingRepairs();
    let models = await openModels(first.events);
    await first.begun;
    // It may have been killed as well: what is written says what it is.
    await Promise.all([models.close(), Promise.resolve().then(first.letGo)]);
    const rows = openRows<KeptCheckpoint>(dir, [rules, ruleNames, sums]);
    const { position, logId } = rows.mark('adding')!;
    await rows.write(
      new Map(),
      new Map([['ruling', { logId, position, eventId: store.log.at(-1)!.id, version: 1, isApart: true }]]),
    );
    await rows.close();
    const second = holdingRepairs();
    models = await openModels(second.events);
    expect(models.absent).toEqual(['ruling']);
    expect(() => models.get(rules, nameOf(1))).toThrow(RowsAbsent);
    second.letGo();
    await models.whole([rules]);
  });

  test('are there when all of ours has been read, whatever came behind it from others or the store', async () => {
    store.plantAsIs('$settings', [{ ...event(0), type: '$metadata' }]);
    await closed();
    changeAt(inValue, (bytes, at) => {
      bytes[at + 2]! ^= 1;
    });
    const { subscribe } = shareSubscription(store);
    const models = await openModels({ ...store, subscribe } as EventStore);
    await models.whole([rules]);
    expect(shown(models)).toBe(many);
  });

  test('that cannot be made stay hidden, and whoever waits for them is told', async () => {
    await closed();
    changeAt(inValue, (bytes, at) => {
      bytes[at + 2]! ^= 1;
    });
    const broken = {
      ...ruling,
      apply: () => {
        throw new Error('not any more');
      },
    };
    const models = await openReadModels({
      ours: (batch) => batch,
      dir,
      store,
      logId: 'log',
      projections: [broken, adding],
    });
    cleanUps.push(() => models.close());
    await expect(models.whole([rules])).rejects.toThrow('not any more');
    expect(await models.reached(store.log.at(-1)!.position, 60_000, [rules])).toBe(false);
    expect(models.stopped).toMatchObject([{ follower: 'ruling', at: { stream: nameOf(0) } }]);
    expect(() => models.get(rules, nameOf(1))).toThrow(RowsAbsent);
    expect(models.get(sums, nameOf(5))).toEqual({ sum: 5 });
  });

  test('are not those of a log that is in the place of theirs, which nobody sees before it is read', async () => {
    const models = await openModels();
    const seen: boolean[] = [];
    const rebuilding = models.rebuild('another log');
    const look = setInterval(() => {
      try {
        seen.push(shown(models) === many);
      } catch (error) {
        expect(error).toBeInstanceOf(RowsAbsent);
      }
    }, 0);
    await rebuilding;
    clearInterval(look);
    expect(seen.every(Boolean)).toBe(true);
    expect(shown(models)).toBe(many);
  });
});

describe('rows of the release before, which knew no sums', () => {
  /** As that release has written them. */
  const writeOld = async (): Promise<void> => {
    await closed();
    const from = openRows<KeptCheckpoint>(dir, [rules, ruleNames, sums]);
    const packr = new Packr({ useRecords: false });
    const into = mkdtempSync(join(tmpdir(), 'weir-old-'));
    const root = open({ path: into, encoding: 'binary', compression: false, maxDbs: 12, eventTurnBatching: false });
    for (const each of [rules, ruleNames, sums] as Table<object>[]) {
      const db = root.openDB<Buffer, string>({ name: each.name, encoding: 'binary' });
      for (const { key, row } of from.range(each, { prefix: '', limit: 1_000 })) await db.put(key, packr.pack(row));
    }
    const marks = root.openDB<Buffer, string>({ name: 'checkpoints', encoding: 'binary' });
    for (const name of ['ruling', 'adding']) await marks.put(name, packr.pack(from.mark(name)));
    await Promise.all([root.close(), from.close()]);
    rmSync(join(dir, 'data.sums'));
    copyFileSync(join(into, 'data.mdb'), file);
    rmSync(into, { recursive: true });
  };
  /** Whether all rows have their sums by now. */
  const isTakenOver = (rows: RowStore<KeptCheckpoint>): boolean => {
    rows.refresh();
    return rows.mark('~form') !== undefined;
  };

  test('are served at once and given their sums meanwhile, after which a row without is damage', async () => {
    await writeOld();
    const models = await openModels();
    expect(told).toEqual([]);
    expect(shown(models)).toBe(many);
    const beside = openRows<KeptCheckpoint>(dir, [rules], { readOnly: true });
    const { position } = await store.append(nameOf(3), [event(33)], 0);
    expect(await models.reached(position, 5_000)).toBe(true);
    await vi.waitFor(() => expect(isTakenOver(beside)).toBe(true), 10_000);
    await beside.close();
    expect(shown(models)).toBe(many);
    await models.close();
    const again = await openModels();
    expect(shown(again)).toBe(many);
    expect(told).toEqual([]);
    await again.close();
    rmSync(join(dir, 'data.sums'));
    const rows = openRows<KeptCheckpoint>(dir, [rules]);
    await rows.close();
    const root = open({ path: dir, encoding: 'binary', compression: false, maxDbs: 12, eventTurnBatching: false });
    await root.openDB<Buffer, string>({ name: 'rules', encoding: 'binary' }).put(nameOf(3), new Packr().pack({}));
    await root.close();
    rmSync(join(dir, 'data.sums'), { force: true });
    const third = await openModels();
    expect(told).toEqual(['rows.damaged ruling']);
    await third.whole(third.tables);
    expect(shown(third)).toBe(many);
  });
});
