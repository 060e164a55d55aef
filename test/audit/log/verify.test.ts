// Lane: middle: it runs at length
import { describe, expect, test, vi } from 'vitest';
import { rotateKey } from '../../../src/audit/log/keys.ts';
import { verdictOf } from '../../../src/audit/log/verify/verdict.ts';
import { isRemovable } from '../../../src/domain/streams.ts';
import type { Metadata, Recorded } from '../../../src/kernel/store/store.ts';
import { checkpointText, parsedCheckpoint } from '../../../src/merkle/checkpoint.ts';
import { signed } from '../../../src/merkle/note.ts';
import { mutations } from './mutations.ts';
import { clock, gateway, origin, plantKey, signers, signersOf, write } from './scene.ts';
import {
  chainedAnew,
  checkpoint,
  coveredBy,
  freshId,
  leavesIn,
  notesOf,
  randomOf,
  signedLog,
  verify,
} from './signed-log.ts';

/** AUDIT_SEEDS=1000 is what the README reports of. */
const seeds = Number(process.env.AUDIT_SEEDS ?? 20);
const timeout = 30_000 + 1_000 * seeds;

describe('a log that nobody touched', () => {
  test('has nothing wrong, with checkpoints from elsewhere and without', { timeout }, async () => {
    for (let seed = 0; seed < seeds; seed++) {
      const { log } = await signedLog(randomOf(seed));
      const report = await verify(log, { against: notesOf(log) });
      expect({ seed, findings: report.findings }).toEqual({ seed, findings: [] });
      expect(report).toMatchObject({
        events: log.length,
        checkpoints: notesOf(log).length,
        covered: coveredBy(log),
        uncovered: leavesIn(log).length - coveredBy(log),
        removed: 0,
        outside: coveredBy(log),
        isKeyTrusted: true,
      });
      expect(await verify(log)).toMatchObject({ findings: [], outside: null });
    }
  });

  test('has nothing wrong where what may be removed was, and says how much', { timeout }, async () => {
    for (let seed = 0; seed < seeds; seed++) {
      const random = randomOf(seed);
      const { log } = await signedLog(random);
      const last = leavesIn(log)[coveredBy(log) - 1];
      const gone = new Set(
        leavesIn(log).filter((event) => isRemovable(event.stream) && event !== last && random.next() < 0.5),
      );
      // Of a stream the oldest go first.
      const kept = log.filter((event, i) => {
        const goes = log.slice(i).some((later) => later.stream === event.stream && gone.has(later));
        return !(isRemovable(event.stream) && goes);
      });
      const report = await verify(kept, { against: notesOf(log) });
      expect({ seed, findings: report.findings }).toEqual({ seed, findings: [] });
      const covered = leavesIn(log).slice(0, coveredBy(log));
      expect(report.removed).toBe(covered.filter((event) => !kept.includes(event)).length);
    }
  });

  test('has nothing wrong where another application has written onto its streams', async () => {
    const store = await signedLog(randomOf(4), 3);
    const theirs = (n: number) => ({ id: `theirs-${n}`, type: 'moved', data: {}, metadata: {} as Metadata });
    for (let n = 0; n < 20; n++) {
      write(store, n % 5, n % 3);
      store.plantAsIs(store.log.at(-1)!.stream, [theirs(n)]);
      if (n % 7 === 0) checkpoint(store);
    }
    store.plantAsIs(`project-proj_${'9'.repeat(26)}`, [theirs(20)]);
    write(store, 1, 9);
    const report = await verify(store.log, { against: notesOf(store.log) });
    expect(report).toMatchObject({ findings: [], events: store.log.length - 21 });
    expect(report.uncovered).toBeGreaterThan(0);
  });

  test('that gateways have signed has nothing wrong', async () => {
    const store = await signedLog(randomOf(1), 3);
    const { checkpointer } = await gateway(store);
    for (let n = 0; n < 50; n++) write(store, n % 5, n);
    await rotateKey(store, signers, clock);
    write(store, 0, 99);
    await vi.waitFor(() => expect(coveredBy(store.log)).toBe(leavesIn(store.log).length));
    await checkpointer.close();
    const report = await verify(store.log, { against: notesOf(store.log) });
    expect(report).toMatchObject({ findings: [], uncovered: 0 });
  });
});

describe('a log that somebody has touched', () => {
  for (const [name, mutate] of Object.entries(mutations)) {
    test(`${name}: is found, in its class and place`, { timeout }, async () => {
      for (let seed = 0; seed < seeds; seed++) {
        const random = randomOf(seed);
        const { log } = await signedLog(random);
        const forged = await mutate(log, random);
        const report = await verify(forged.log, { against: notesOf(log), ...forged.options });
        const [first] = report.findings;
        expect({ seed, class: first?.class, index: first?.index, all: report.findings }).toMatchObject({
          seed,
          class: forged.class,
          index: forged.index,
        });
      }
    });
  }

  test('names every place: three edits are three findings', async () => {
    const { log } = await signedLog(randomOf(7), 9);
    const leaves = leavesIn(log).slice(0, coveredBy(log));
    const places = leaves
      .flatMap(({ stream }, i) => (i > 0 && !isRemovable(stream) ? [i] : []))
      .filter((_, n) => n % 4 === 0);
    let forged: readonly Recorded[] = log;
    for (const place of places) {
      const at = forged.indexOf(leaves[place]!);
      forged = forged.with(at, { ...leaves[place]!, data: { name: 'x' } });
    }
    const { findings } = await verify(forged);
    expect(findings.map(({ class: what, index }) => [what, index])).toEqual(places.map((place) => ['altered', place]));
    expect(places.length).toBeGreaterThan(2);
  });

  test('an edit of what may be removed is no removal', async () => {
    const { log } = await signedLog(randomOf(5), 9);
    const index = leavesIn(log).findIndex(({ stream }) => stream.startsWith('oauthToken-'));
    const event = leavesIn(log)[index]!;
    const { findings } = await verify(log.with(log.indexOf(event), { ...event, data: { n: -1 } }));
    expect(findings).toMatchObject([{ class: 'altered', index, stream: event.stream }]);
  });

  test('what may be removed one day and is gone before is missing, and the day after it is removed', async () => {
    const store = await signedLog(randomOf(6), 5);
    for (let n = 0; n < 4; n++) write(store, 2, 8);
    checkpoint(store);
    const { log } = store;
    const uses = leavesIn(log).filter(({ stream }) => stream === 'credentialUse-20201128');
    const index = leavesIn(log).indexOf(uses.at(-1)!);
    const kept = log.filter((event) => event !== uses.at(-1));
    // 400 days, but for one.
    const due = Date.UTC(2020, 10, 28 + 399);
    const missing = { class: 'missing', index, stream: 'credentialUse-20201128' };
    expect((await verify(kept, { now: due - 1 })).findings).toMatchObject([missing]);
    expect(await verify(kept, { now: due })).toMatchObject({ findings: [], removed: 1 });
    // Where more is wrong it is said as well.
    const other = kept.filter((event) => event !== leavesIn(log)[1]);
    const found = (await verify(other, { now: due - 1 })).findings;
    expect(found.map(({ class: what, index: at }) => [what, at])).toEqual([
      ['missing', 1],
      ['missing', index],
    ]);
  });

  test('what JSON can hold and no canonical form can is not what was signed, wherever it is', async () => {
    const store = await signedLog(randomOf(12), 6);
    checkpoint(store);
    const covered = coveredBy(store.log);
    const before = leavesIn(store.log).findLastIndex(({ stream }, i) => i < covered - 1 && !isRemovable(stream));
    for (const kind of [1, 2]) write(store, kind, 8);
    for (const index of [before, covered, covered + 1]) {
      const event = leavesIn(store.log)[index]!;
      // RFC 8785 by JSON.stringify would write null for the first, as where a limit was null.
      const deep = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`;
      for (const n of ['{"name":1e999}', '{"10":1,"9":-1e999}', '{"name":"\\ud800"}', deep]) {
        const data = JSON.parse(n) as Recorded['data'];
        const { findings } = await verify(store.log.with(store.log.indexOf(event), { ...event, data }));
        expect(findings, n.slice(0, 30)).toMatchObject([{ class: 'altered', index, stream: event.stream }]);
      }
    }
  });

  test('a number that is none does not stand for nothing', async () => {
    const store = await signedLog(randomOf(12), 3);
    const id = freshId();
    const { metadata } = store.log[0]!;
    store.plantAsIs(`project-proj_${'8'.repeat(26)}`, [
      { id, type: 'project.updated', data: { limit: null }, metadata },
    ]);
    const event = store.log.at(-1)!;
    checkpoint(store);
    const { findings } = await verify(store.log.with(store.log.indexOf(event), { ...event, data: { limit: 1 / 0 } }));
    expect(findings).toMatchObject([{ class: 'altered', stream: event.stream, revision: 0 }]);
  });

  test('what stands beside a signature is judged, too: the number of the key, and what stays of what may be removed', async () => {
    const { log } = await signedLog(randomOf(5), 9);
    const event = log.find(({ data }) => Object.keys((data.stubs as object | undefined) ?? {}).length > 1)!;
    const stubs = Object.entries(event.data.stubs as Record<string, string>);
    const [[index, first], [, second]] = stubs as [[string, string], [string, string]];
    const edits: Recorded['data'][] = [
      { key: 2 },
      { key: Number.MAX_SAFE_INTEGER },
      { stubs: Object.fromEntries(stubs.slice(1)) },
      { stubs: Object.fromEntries(stubs.with(0, [index, second])) },
      { stubs: Object.fromEntries(stubs.with(0, [index, `${first} `])) },
      { stubs: Object.fromEntries([...stubs, ['999999', first]]) },
      { stubs: Object.fromEntries([...stubs, ['nonsense', first]]) },
    ];
    for (const edit of edits) {
      const { findings } = await verify(log.with(log.indexOf(event), { ...event, data: { ...event.data, ...edit } }));
      expect(findings, JSON.stringify(edit)).toMatchObject([{ class: 'checkpoint' }]);
    }
  });

  test('that the store was told to hide what is in the log is found, until it is told otherwise', async () => {
    const { log } = await signedLog(randomOf(5), 5);
    const told = (stream: string, data: Record<string, unknown>, type = '$metadata'): Recorded => ({
      ...log[0]!,
      stream: type === '$metadata' ? `$$${stream}` : stream,
      type,
      data,
      position: log.at(-1)!.position + 1n,
    });
    const project = log.find(({ stream }) => stream.startsWith('project-'))!.stream;
    const uses = log.find(({ stream }) => stream.startsWith('credentialUse-'))!.stream;
    const token = log.find(({ stream }) => stream.startsWith('oauthToken-'))!.stream;
    const early = 24 * 3600;
    const found = async (...more: Recorded[]) =>
      (await verify([...log, ...more])).findings.map(({ class: what, stream }) => [what, stream]);
    for (const data of [{ $tb: 1 }, { $maxCount: 1 }, { $maxAge: early }, JSON.parse('{"$tb":9223372036854775807}')])
      expect(await found(told(project, data))).toEqual([['hidden', project]]);
    expect(await found(told(project, {}, '$streamDeleted'))).toEqual([['hidden', project]]);
    expect(await found(told(uses, { $maxAge: early }))).toEqual([['hidden', uses]]);
    expect(await found(told(uses, { $tb: 1, $maxAge: 400 * early }))).toEqual([['hidden', uses]]);
    // As Weir tells it, of what it removes itself, and of what is not Weir's.
    expect(
      await found(
        told(uses, { $maxAge: 400 * early }),
        told(token, { $maxAge: 7_200 }),
        told(token, { $tb: 1 }),
        told(project, { $acl: {} }),
        told('orders-1', { $tb: 7 }),
        told('project-77', { $tb: 7 }),
      ),
    ).toEqual([]);
    expect(await found(told(project, { $tb: 1 }), told(project, {}))).toEqual([]);
  });

  test('a stub that was not signed excuses no removal', async () => {
    const { log } = await signedLog(randomOf(5), 9);
    const index = 4;
    const event = leavesIn(log).findIndex(({ stream }, i) => i >= index && !isRemovable(stream));
    const stub = '{"hash":"x","revision":0,"stream":"replay-x"}';
    const forged = log
      .filter((each) => each !== leavesIn(log)[event])
      .map((each) => ('stubs' in each.data ? { ...each, data: { ...each.data, stubs: { [event]: stub } } } : each));
    const { findings } = await verify(forged);
    expect(findings).toContainEqual(expect.objectContaining({ class: 'missing', index: event }));
  });

  test('behind the last checkpoint the chain alone shows it, and a forged chain nothing does', async () => {
    const store = await signedLog(randomOf(3));
    checkpoint(store);
    const covered = coveredBy(store.log);
    for (let n = 0; n < 3; n++) write(store, 1, 2);
    const event = leavesIn(store.log)[covered + 1]!;
    const forged = store.log.with(store.log.indexOf(event), { ...event, data: { name: 'x' } });
    expect((await verify(forged)).findings).toMatchObject([{ class: 'chain', index: covered + 2 }]);
    expect((await verify(chainedAnew(forged, event.stream))).findings).toEqual([]);
  });

  test('behind the last checkpoint an event has its link, and each stream all of its revisions', async () => {
    const store = await signedLog(randomOf(3));
    checkpoint(store);
    const covered = coveredBy(store.log);
    for (const kind of [1, 2]) for (let n = 0; n < 3; n++) write(store, kind, 8);
    const at = (index: number): Recorded => leavesIn(store.log)[index]!;
    const { prev: _, ...metadata } = at(covered + 1).metadata;
    const forged = store.log.with(store.log.indexOf(at(covered + 1)), { ...at(covered + 1), metadata });
    const unlinked = [covered + 1, covered + 2].map((index) => ({ class: 'chain', index }));
    expect((await verify(forged)).findings).toMatchObject(unlinked);

    // Without a chain a gap alone shows that one is gone.
    const { stream, revision } = at(covered + 4);
    const gap = store.log.filter((event) => event !== at(covered + 4));
    expect((await verify(gap)).findings).toMatchObject([
      { class: 'chain', index: covered + 4, stream, revision: revision + 1 },
    ]);
  });

  test('a checkpoint that says it is of another log is none of this one', async () => {
    const { log } = await signedLog(randomOf(8), 4);
    const event = log.findLast(({ stream }) => stream === 'auditLog-checkpoints')!;
    const { size, root } = notesOf(log).at(-1)!;
    const note = signed(checkpointText({ origin: 'weir/another', size, root }), signers(1));
    const forged = log.with(log.indexOf(event), { ...event, data: { ...event.data, note } });
    expect((await verify(forged)).findings).toMatchObject([{ class: 'signature', revision: event.revision }]);
  });

  test('a checkpoint from outside that no key of the log has signed is no evidence', async () => {
    const { log } = await signedLog(randomOf(8), 4);
    const { size, root } = notesOf(log).at(-1)!;
    const note = signed(checkpointText({ origin, size, root }), signersOf('another')(1));
    const { findings } = await verify(log, { against: [parsedCheckpoint(note)!] });
    expect(findings).toMatchObject([{ class: 'signature', index: size }]);
    const many = (await verify(log, { against: [1, 2, 3].map(() => parsedCheckpoint(note)!) })).findings;
    expect(many).toMatchObject([{ class: 'signature', says: expect.stringMatching(/, and so it is with 2 more\.$/) }]);
  });

  test('an edit explains no fork in front of it', async () => {
    const { log } = await signedLog(randomOf(9), 9);
    const index = leavesIn(log).findLastIndex(({ stream }, i) => i < coveredBy(log) && !isRemovable(stream));
    const event = leavesIn(log)[index]!;
    const edited = log.with(log.indexOf(event), { ...event, data: { name: 'x' } });
    const seen = signed(checkpointText({ origin, size: 3, root: Buffer.alloc(32, 7) }), signers(1));
    const { findings } = await verify(edited, { against: [parsedCheckpoint(seen)!] });
    expect(findings).toMatchObject([
      { class: 'forked', index: 0, to: 3 },
      { class: 'altered', index },
    ]);
  });

  test('checkpoints of another log do not accuse this one, and do not count', async () => {
    const { log } = await signedLog(randomOf(1));
    const notes = notesOf(log);
    const others = notes.map(({ note }) => {
      const text = note.text.replace(/^.*/, 'weir/another');
      return parsedCheckpoint(signed(text, signersOf('another')(1)))!;
    });
    const alone = await verify(log, { against: others });
    const mistaken = { origin, other: 'weir/another', count: others.length };
    expect(alone).toMatchObject({ findings: [], outside: null, mistaken });
    const says = `The checkpoints to compare with are of another log, weir/another: they say nothing of this one, ${origin}.`;
    expect(verdictOf(alone)).toEqual({ code: 2, says });
    const both = await verify(log, { against: [...others, ...notes] });
    expect(both).toMatchObject({ findings: [], outside: coveredBy(log), mistaken });
    expect(verdictOf(both).code).toBe(0);
    expect(await verify(log, { against: notes })).toMatchObject({ mistaken: null });
  });

  test('checkpoints that another key has signed are one finding, in the log and outside', async () => {
    const { log } = await signedLog(randomOf(1));
    const by = signersOf('another')(1);
    const others = notesOf(log).map(({ note }) => parsedCheckpoint(signed(note.text, by))!);
    const andMore = new RegExp(`, and so it is with ${others.length - 1} more\\.$`);
    const outside = await verify(log, { against: others });
    expect(outside.findings).toMatchObject([{ class: 'signature', says: expect.stringMatching(andMore) }]);
    const forged = await mutations['sign with another key']!(log, randomOf(1));
    const within = await verify(forged.log);
    expect(within.findings).toMatchObject([{ class: 'signature', says: expect.stringMatching(andMore) }]);
    const wrong = await verify(forged.log, { trusted: [signersOf('a third')(1).verifier] });
    expect(wrong.findings).toMatchObject([{ class: 'key', says: expect.stringContaining('SECRETS_DIR') }]);
    expect(verdictOf(wrong)).toEqual({ code: 1, says: wrong.findings[0]?.says });
  });

  test('a fork is said to begin before its end, also where a later checkpoint agrees', async () => {
    const { log } = await signedLog(randomOf(7), 9);
    const notes = notesOf(log);
    const [first, second] = notes as [(typeof notes)[0], (typeof notes)[0]];
    const other = parsedCheckpoint(
      signed(checkpointText({ origin, size: second.size, root: Buffer.alloc(32, 7) }), signers(1)),
    )!;
    const { findings } = await verify(log, { against: [other, ...notes.filter((note) => note !== second)] });
    expect(findings).toMatchObject([{ class: 'forked', index: first.size, to: second.size }]);
  });

  test('of events behind the last checkpoint nothing is said but that it does not cover them', async () => {
    const store = await signedLog(randomOf(1));
    checkpoint(store);
    const against = notesOf(store.log);
    // One that has no chain.
    write(store, 2, 1);
    expect(verdictOf(await verify(store.log, { against })).says).toMatch(
      /others\. The last checkpoint does not cover 1 event yet\.$/,
    );
  });

  test('checkpoints that are gone are missed', async () => {
    const { log } = await signedLog(randomOf(11), 8);
    const second = log.filter(({ stream }) => stream === 'auditLog-checkpoints')[1]!;
    const { findings } = await verify(log.filter((event) => event !== second));
    expect(findings.map(({ class: what }) => what)).toEqual(['missing']);
  });

  test('what a key has signed for which nobody vouches is unproven, and what one has that the key before vouches for is not', async () => {
    const vouched = await signedLog(randomOf(2), 3);
    await rotateKey(vouched, signers, clock);
    checkpoint(vouched, 0, signers, 2);
    expect((await verify(vouched.log)).findings).toEqual([]);

    const others = signersOf('stolen store');
    const forged = await signedLog(randomOf(2), 3);
    const proven = coveredBy(forged.log);
    const { revision } = plantKey(forged, 2, others);
    checkpoint(forged, 0, others, 2);
    const report = await verify(forged.log);
    expect(report).toMatchObject({
      findings: [],
      unprovenFrom: proven,
      passedOver: [{ stream: 'auditLog-keys', revision }],
    });
    expect(verdictOf(report)).toMatchObject({ code: 2, says: expect.stringContaining(`from entry ${proven} on`) });
    const known = await verify(forged.log, { trusted: [signers(1).verifier, others(2).verifier] });
    expect(known).toMatchObject({ findings: [], unprovenFrom: null, passedOver: [] });
  });

  test('a key that the log gives itself is believed by nobody who knows another', async () => {
    const { log } = await signedLog(randomOf(2), 3);
    const { findings } = await verify(log, { trusted: [signersOf('another')(1).verifier] });
    expect(new Set(findings.map(({ class: what }) => what))).toEqual(new Set(['key']));
    expect(await verify(log, { trusted: [] })).toMatchObject({ findings: [], isKeyTrusted: false });
  });
});
