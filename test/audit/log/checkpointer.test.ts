import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { auditTreeHashes, auditTreeHead } from '../../../projections/audit-tree.ts';
import { checkpointOf, newCheckpoint } from '../../../src/audit/log/checkpoint-event.ts';
import { believedKeys } from '../../../src/audit/log/key-belief.ts';
import { ensureFirstKey, logKeyOf, rotateKey } from '../../../src/audit/log/keys.ts';
import { checkpointStream, leafOf, stubOf } from '../../../src/audit/log/leaf.ts';
import { beginNewPart } from '../../../src/audit/log/new-part.ts';
import { verdictOf } from '../../../src/audit/log/verify/verdict.ts';
import { hashOf } from '../../../src/kernel/store/event-hash.ts';
import type { NewEvent, Recorded } from '../../../src/kernel/store/store.ts';
import { isSignedWith, signed } from '../../../src/merkle/note.ts';
import { rootOf } from '../../../src/merkle/tree.ts';
import { onSignal, type SignalName, type Signals } from '../../../src/telemetry.ts';
import { type MemoryStore, memoryStore } from '../../support/memory-store.ts';
import { begun, clock, copyOf, gateway, origin, plantKey, signers, signersOf, write } from './scene.ts';
import { checkpoint, freshId, keysOf, notesOf, verify } from './signed-log.ts';

const checkpointsOf = (store: MemoryStore) =>
  store.log.filter(({ stream }) => stream === checkpointStream).map((event) => checkpointOf(event)!);
const leavesOf = (store: MemoryStore) =>
  store.log.filter(({ stream }) => stream !== checkpointStream).map((e) => leafOf(e));
const signedUpTo = (store: MemoryStore): number => checkpointsOf(store).at(-1)?.checkpoint.size ?? 0;

/** Until every leaf is covered. */
const covered = (store: MemoryStore): Promise<void> =>
  vi.waitFor(() => expect(signedUpTo(store)).toBe(leavesOf(store).length), { timeout: 20_000, interval: 2 });

describe('checkpoints', () => {
  test('cover every event of ours in its order, and are signed', async () => {
    const store = await begun();
    const { models, seen, checkpointer } = await gateway(store);
    for (let n = 0; n < 40; n++) {
      write(store, n % 5, n % 7);
      if (n % 11 === 0) await covered(store);
    }
    await covered(store);
    await checkpointer.close();
    const said = checkpointsOf(store);
    expect(said.length).toBeGreaterThan(3);
    expect(said.map(({ from }) => from)).toEqual([0, ...said.slice(0, -1).map(({ checkpoint }) => checkpoint.size)]);
    expect(said.flatMap(({ hashes }) => hashes.map((hash) => hash.toString('base64')))).toEqual(
      leavesOf(store).map(({ hash }) => hash),
    );
    await models.reached(store.log.at(-1)!.position, 1000);
    for (const { checkpoint } of said) {
      expect(checkpoint.origin).toBe(origin);
      expect(checkpoint.root).toEqual(rootOf(auditTreeHashes(models), checkpoint.size));
      expect(isSignedWith(checkpoint.note, signers(1).verifier)).toBe(true);
    }
    expect(seen.map(({ signed }) => signed)).toEqual(said.map(({ checkpoint }) => checkpoint.signed));
  });

  test('keep of an event that may be removed what it was, without what it said', async () => {
    const store = await begun();
    const { checkpointer } = await gateway(store);
    write(store, 3, 1);
    write(store, 1, 1);
    await covered(store);
    await checkpointer.close();
    const token = store.log.find(({ stream }) => stream.startsWith('oauthToken-'))!;
    const stubs = Object.assign({}, ...checkpointsOf(store).map(({ stubs }) => stubs));
    expect(Object.values<string>(stubs).map(stubOf)).toEqual([
      { hash: hashOf(token), revision: 0, stream: token.stream },
    ]);
    expect(Object.keys(stubs)).toEqual([String(store.log.indexOf(token))]);
  });

  test('pass over events of others, and those of the store', async () => {
    const store = await begun();
    const { checkpointer } = await gateway(store);
    const ours = leavesOf(store).length;
    store.plantAsIs('project-77', [{ ...copyOf(store.log[0]!), id: 'x', type: 'project.updated' }]);
    store.plantAsIs('orders-1', [{ ...copyOf(store.log[0]!), id: 'y', type: 'shipped' }]);
    write(store, 0, 1);
    await vi.waitFor(() => expect(signedUpTo(store)).toBe(ours + 1));
    await checkpointer.close();
  });

  test('pass over what has no canonical form, and go on', async () => {
    const store = await begun();
    const { checkpointer } = await gateway(store);
    const ours = leavesOf(store).length;
    const deep = JSON.parse(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`) as Recorded['data'];
    for (const [kind, data] of [{ name: 1 / 0 }, deep].entries()) {
      write(store, kind, 1);
      // Nobody has been told of it yet.
      Object.assign(store.log.at(-1)!, { data });
    }
    write(store, 2, 1);
    await vi.waitFor(() => expect(signedUpTo(store)).toBe(ours + 1));
    await checkpointer.close();
    expect(checkpointer.stopped).toBeUndefined();
  });

  test('are signed at the end, for what no checkpoint covers yet', async () => {
    const store = await begun();
    const { checkpointer } = await gateway(store, { delayMs: 1e6 });
    write(store, 0, 1);
    await vi.waitFor(async () => expect(store.log).toHaveLength(3));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await checkpointer.close();
    expect(signedUpTo(store)).toBe(3);
  });

  test('of 5,000 leaves at once are of 2,048 at most', async () => {
    const store = await begun();
    for (let n = 0; n < 5_000; n++) write(store, 2, n);
    const { models, checkpointer } = await gateway(store);
    await covered(store);
    await checkpointer.close();
    expect(checkpointsOf(store).map(({ hashes }) => hashes.length)).toEqual([2048, 2048, 906]);
    await models.reached(store.log.at(-1)!.position, 1000);
    expect(auditTreeHead(models)?.tree.size).toBe(5_002);
  });
});

describe('a gateway that begins', () => {
  test('goes on where the last checkpoint ended, whatever was removed, and signs nothing twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ kind: fc.nat(4), stops: fc.boolean(), removed: fc.boolean() }), { maxLength: 25 }),
        async (steps) => {
          const store = await begun();
          let at = await gateway(store);
          const expected = () =>
            checkpointsOf(store).flatMap(({ hashes }) => hashes.map((hash) => hash.toString('base64')));
          const all = leavesOf(store).map(({ hash }) => hash);
          for (const [n, { kind, stops, removed }] of steps.entries()) {
            write(store, kind, n);
            const last = store.log.findLast(({ stream }) => stream !== checkpointStream)!;
            all.push(leafOf(last).hash);
            if (!stops) continue;
            await vi.waitFor(() => expect(expected()).toEqual(all), { timeout: 5000, interval: 1 });
            await at.checkpointer.close();
            if (removed && leafOf(last).stub) store.scavenge(last);
            at = await gateway(store);
          }
          await vi.waitFor(() => expect(expected()).toEqual(all), { timeout: 5000, interval: 1 });
          await at.checkpointer.close();
          expect(at.checkpointer.stopped).toBeUndefined();
        },
      ),
      { numRuns: 30 },
    );
  });

  test('signs nothing on a log that is not what was signed', async () => {
    const store = await begun();
    const first = await gateway(store);
    write(store, 1, 1);
    await covered(store);
    await first.checkpointer.close();
    const edited = await begun();
    for (const event of store.log.slice(edited.log.length)) {
      const data = event.type === 'project.updated' ? { name: 'other' } : event.data;
      edited.plantAsIs(event.stream, [{ ...copyOf(event), data }]);
    }
    const { checkpointer } = await gateway(edited);
    expect(checkpointer.stopped?.message).toMatch(/revision 0 of project-.* is not what was signed/);
    write(edited, 1, 2);
    await checkpointer.close();
    expect(signedUpTo(edited)).toBe(signedUpTo(store));
  });
});

test('a checkpoint whose hashes are not what was signed is not followed', async () => {
  const store = await begun();
  const { models, checkpointer, seen } = await gateway(store);
  await covered(store);
  await models.reached(store.log.at(-1)!.position, 5_000);
  const { tree, anchor, revision } = auditTreeHead(models)!;
  const leaves = [leafOf(store.log[0]!)];
  const forged = newCheckpoint({ tree, leaves, anchor, origin, key: 1, signer: signers(1), clock });
  const hashes = Buffer.alloc(32, 7).toString('base64');
  store.plantAsIs(checkpointStream, [{ ...forged, data: { ...forged.data, hashes } }]);
  await vi.waitFor(() => expect(checkpointer.stopped).toBeDefined());
  expect(checkpointer.stopped?.message).toBe(
    `revision ${revision + 1} of ${checkpointStream} does not follow the one before`,
  );
  expect(seen.at(-1)?.size).toBe(tree.size);
  await checkpointer.close();
});

describe('several gateways', () => {
  test('sign one tree, whoever is first', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.infiniteStream(fc.nat(3)),
        fc.array(fc.nat(4), { minLength: 5, maxLength: 40 }),
        async (waits, kinds) => {
          const store = await begun({
            delay: () => new Promise((resolve) => setTimeout(resolve, waits.next().value)),
          });
          const all = await Promise.all([1, 2, 3].map(() => gateway(store)));
          for (const [n, kind] of kinds.entries()) {
            write(store, kind, n);
            await new Promise((resolve) => setTimeout(resolve, n % 3));
          }
          await covered(store);
          await vi.waitFor(() => {
            for (const { seen } of all) expect(seen.at(-1)?.size).toBe(leavesOf(store).length);
          });
          await Promise.all(all.map(({ checkpointer }) => checkpointer.close()));
          for (const { seen, checkpointer } of all) {
            expect(checkpointer.stopped).toBeUndefined();
            expect(seen.map(({ signed }) => signed)).toEqual(
              checkpointsOf(store).map(({ checkpoint }) => checkpoint.signed),
            );
          }
          expect(checkpointsOf(store).flatMap(({ hashes }) => hashes.map((hash) => hash.toString('base64')))).toEqual(
            leavesOf(store).map(({ hash }) => hash),
          );
        },
      ),
      { numRuns: 8 },
    );
  });

  test('stop at a checkpoint that nobody of them has signed', async () => {
    const store = await begun();
    const all = await Promise.all([1, 2].map(() => gateway(store)));
    await covered(store);
    const own = signedUpTo(store);
    write(store, 0, 1);
    forge(store);
    write(store, 0, 2);
    await vi.waitFor(() => {
      for (const { checkpointer } of all) expect(checkpointer.stopped?.message).toMatch(/does not follow/);
    });
    await Promise.all(all.map(({ checkpointer }) => checkpointer.close()));
    expect(signedUpTo(store)).toBe(own + 1);
    for (const { seen } of all) expect(seen.at(-1)?.size).toBe(own);
  });
});

describe('a checkpoint of others that changes nothing', () => {
  const last = (store: MemoryStore) => store.log.findLast(({ stream }) => stream === checkpointStream)!;
  const lineOf = (by: string, text: string) => signed(text, signersOf(by)(1)).slice(text.length + 1);
  const again = (store: MemoryStore, more: (note: string) => object) => {
    const { data } = last(store);
    const note = String(data.note);
    const from = checkpointOf(last(store))!.checkpoint.size;
    return { ...data, from, hashes: '', stubs: {}, note, ...more(note) };
  };

  test.each<[string, (store: MemoryStore) => object]>([
    ['once more', (store) => again(store, () => ({}))],
    ['with another anchor', (store) => again(store, () => ({ anchor: { stream: 'nope', revision: 0, index: 999 } }))],
    [
      'with a line of theirs',
      (store) => again(store, (note) => ({ note: `${note}${lineOf('forger', `${note.split('\n\n')[0]!}\n`)}` })),
    ],
    [
      'with leaves that are none',
      (store) => ({ ...last(store).data, from: 5, hashes: Buffer.alloc(32).toString('base64') }),
    ],
    ['without anything', () => ({})],
  ])('%s, is passed over and named, and the next is signed behind it', async (_, made) => {
    const told = heard('audit.checkpoint_passed_over');
    const store = await begun();
    const one = await gateway(store);
    write(store, 0, 1);
    await covered(store);
    const { metadata } = last(store);
    const [planted] = store.plantAsIs(checkpointStream, [
      { id: freshId(), type: 'audit.checkpoint', data: made(store) as Record<string, unknown>, metadata },
    ]);
    write(store, 0, 2);
    await covered(store);
    await one.checkpointer.close();
    const place = { stream: checkpointStream, revision: planted!.revision };
    expect(told[0]).toEqual(place);
    expect(one.checkpointer.passedOver).toEqual([place]);
    expect(one.seen.every(({ note }) => note.signatures.length === 1)).toBe(true);
    const two = await gateway(store);
    write(store, 0, 3);
    await covered(store);
    await two.checkpointer.close();
    expect([one.checkpointer.stopped, two.checkpointer.stopped]).toEqual([undefined, undefined]);
  });
});

test('a first key of theirs is not taken at its word by whoever has the secrets, and a key behind a deletion by nobody', async () => {
  const store = memoryStore();
  const planted = plantKey(store, 1);
  expect((await keysOf(store.log, signers)).believed).toEqual([]);
  const word = { isKnown: () => false, takesFirst: true };
  const found = believedKeys(word);
  expect(found.add(logKeyOf(planted)!)).toBe(true);
  const behind = believedKeys(word);
  expect(behind.add(logKeyOf({ ...planted, revision: 3 })!)).toBe(false);
  expect(logKeyOf({ ...planted, data: { ...planted.data, number: Number.MAX_SAFE_INTEGER } })).toEqual({
    revision: planted.revision,
  });
});

/** What is said of a kind, until the test is over. */
const heard = <N extends SignalName>(wanted: N): Signals[N][] => {
  const told: Signals[N][] = [];
  onTestFinished(onSignal((name, signal) => void ((name as string) === wanted && told.push(signal as Signals[N]))));
  return told;
};

/** Signs what no checkpoint covers, with a key of its own. */
const forge = (store: MemoryStore): void => checkpoint(store, 0, signersOf('forger'), 2);

describe('a log in which others have written', () => {
  test('a key for which nobody vouches: the gateway signs on with its own, says so, and the next one of its own is believed', async () => {
    const told = heard('audit.key_passed_over');
    const store = await begun();
    const first = await gateway(store);
    await covered(store);
    const planted = plantKey(store, 2);
    write(store, 0, 1);
    await covered(store);
    await first.checkpointer.close();
    expect(first.checkpointer.passedOver.map(({ revision }) => revision)).toEqual([planted.revision]);
    const second = await gateway(store);
    expect(told).toEqual([1, 2].map(() => ({ stream: 'auditLog-keys', revision: planted.revision })));
    expect(store.log.filter(({ stream }) => stream === 'auditLog-keys')).toHaveLength(2);
    expect(second.checkpointer).toMatchObject({ stopped: undefined, hasKey: true });
    await rotateKey(store, signers, clock);
    write(store, 0, 2);
    await covered(store);
    await second.checkpointer.close();
    const { believed, passedOver } = await keysOf(store.log);
    expect(believed.map(({ verifier }) => verifier.text)).toEqual(
      [1, 2].map((number) => signers(number).verifier.text),
    );
    expect(passedOver.map(({ revision }) => revision)).toEqual([planted.revision]);
    const trusted = [signers(1).verifier];
    const report = await verify(store.log, { trusted, against: notesOf(store.log) });
    expect(report).toMatchObject({
      findings: [],
      unprovenFrom: null,
      passedOver: [{ stream: 'auditLog-keys', revision: planted.revision }],
    });
    expect(verdictOf(report).code).toBe(0);
    expect(verdictOf({ ...report, outside: null })).toEqual({
      code: 2,
      says: expect.stringMatching(/Somebody has written a key/),
    });
    expect(verdictOf({ ...report, passedOver: [] }).says).not.toContain('Somebody');
  });

  test.each<[string, (key: Record<string, unknown>) => Partial<NewEvent>]>([
    [
      'its hash is another',
      (key) => ({ data: { ...key, public_key: String(key.public_key).replace(/\+\w{8}\+/, '+00000000+') } }),
    ],
    ['its Base64 is none', (key) => ({ data: { ...key, public_key: `${key.public_key}!` } })],
    ['its text is none', (key) => ({ data: { ...key, public_key: 7 } })],
    ['its number is none', (key) => ({ data: { ...key, number: 0 } })],
    ['it is empty', () => ({ data: {} })],
  ])('a key that cannot be read, because %s, is named like one for which nobody vouches', async (_, spoilt) => {
    const told = heard('audit.key_passed_over');
    const store = await begun();
    const first = await gateway(store);
    await covered(store);
    const [started] = store.log.filter(({ stream }) => stream === 'auditLog-keys');
    const { data } = plantKey(memoryStore(), 2);
    const [planted] = store.plantAsIs('auditLog-keys', [{ ...copyOf(started!), id: freshId(), ...spoilt(data) }]);
    write(store, 0, 1);
    await covered(store);
    await first.checkpointer.close();
    const place = { stream: 'auditLog-keys', revision: planted!.revision };
    const second = await gateway(store);
    expect(told).toEqual([place, place]);
    expect([first, second].map(({ checkpointer }) => checkpointer.passedOver)).toEqual([[place], [place]]);
    await rotateKey(store, signers, clock);
    write(store, 0, 2);
    await covered(store);
    await second.checkpointer.close();
    expect(checkpointsOf(store).at(-1)?.key).toBe(2);
    const report = await verify(store.log, { trusted: [signers(1).verifier], against: notesOf(store.log) });
    expect(report).toMatchObject({ findings: [], unprovenFrom: null, passedOver: [place] });
    expect(verdictOf(report)).toEqual({
      code: 0,
      says: expect.stringMatching(
        /^Whole: .* Somebody has written a key into auditLog-keys that nobody vouches for\.$/,
      ),
    });
  });

  test('its own key once more, or a number that is not the next: neither is in force', async () => {
    const store = await begun();
    const { checkpointer } = await gateway(store);
    await rotateKey(store, signers, clock);
    await covered(store);
    const [started, rotated] = store.log.filter(({ stream }) => stream === 'auditLog-keys');
    for (const event of [started!, { ...rotated!, data: { ...rotated!.data, number: 3 } }]) {
      store.plantAsIs('auditLog-keys', [{ ...copyOf(event), id: freshId() }]);
      write(store, 0, 1);
      await covered(store);
    }
    await checkpointer.close();
    expect(checkpointsOf(store).at(-1)?.key).toBe(2);
    const report = await verify(store.log, { against: notesOf(store.log) });
    expect([report.findings, verdictOf(report).code, report.passedOver.length]).toEqual([[], 0, 2]);
  });

  test('a checkpoint of theirs while no gateway ran: none signs what is on top of it, until an operator has said so', async () => {
    const store = await begun();
    const first = await gateway(store);
    await covered(store);
    await first.checkpointer.close();
    plantKey(store, 2);
    forge(store);
    write(store, 0, 1);
    const size = signedUpTo(store);
    const second = await gateway(store);
    expect(second.checkpointer.stopped?.message).toMatch(/is not signed by this log’s key$/);
    expect(second.seen).toEqual([]);
    await second.checkpointer.close();
    expect(signedUpTo(store)).toBe(size);
    await beginNewPart(store, signers, clock);
    const third = await gateway(store);
    await covered(store);
    await third.checkpointer.close();
    expect(third.checkpointer.stopped).toBeUndefined();
    expect(await beginNewPart(store, signers, clock)).toBeUndefined();
  });

  test('a first key of theirs: the gateway serves without signing', async () => {
    const none = heard('audit.no_key');
    const store = memoryStore();
    plantKey(store, 1);
    await ensureFirstKey(store, signers, clock);
    expect(store.log).toHaveLength(1);
    const { checkpointer } = await gateway(store);
    write(store, 0, 1);
    expect(checkpointer).toMatchObject({ stopped: undefined, hasKey: false });
    expect(none).toHaveLength(1);
    await checkpointer.close();
    expect(signedUpTo(store)).toBe(0);
  });
});

describe('a log whose master key is lost for good', () => {
  const next = signersOf('new master');

  test('is not signed until an operator begins a new part, and then at once, from the first event that nobody has signed', async () => {
    const store = await begun();
    const before = await gateway(store);
    await covered(store);
    await before.checkpointer.close();
    for (let n = 0; n < 3_000; n++) write(store, 2, n);
    const after = await gateway(store, { signers: next });
    expect(after.checkpointer).toMatchObject({ stopped: undefined, hasKey: false });
    write(store, 0, 1);
    const signedThen = signedUpTo(store);
    const began = await beginNewPart(store, next, clock);
    expect(began?.text).toBe(next(2).verifier.text);
    await covered(store);
    expect(after.checkpointer).toMatchObject({ stopped: undefined, hasKey: true });
    await after.checkpointer.close();
    expect(await beginNewPart(store, next, clock)).toBeUndefined();

    const old = { trusted: [signers(1).verifier], against: notesOf(store.log).slice(0, 1) };
    const report = await verify(store.log, old);
    expect(report).toMatchObject({ findings: [], unprovenFrom: signedThen });
    expect(verdictOf(report)).toMatchObject({
      code: 2,
      says: expect.stringMatching(`^Unproven from entry ${signedThen} on`),
    });
    for (const told of [
      { ...old, trusted: [signers(1).verifier, next(2).verifier] },
      { ...old, trusted: [next(2).verifier] },
      // A sink has got what the new key has signed, and so it knows it.
      { ...old, against: notesOf(store.log) },
      { trusted: [], against: notesOf(store.log) },
    ]) {
      const known = await verify(store.log, told);
      expect([known.findings, known.unprovenFrom, verdictOf(known).code]).toEqual([[], null, 0]);
    }
  });

  test('goes on where a start of an earlier version has begun the new part by itself', async () => {
    const store = await begun();
    const before = await gateway(store);
    await covered(store);
    await before.checkpointer.close();
    plantKey(store, 2, next);
    checkpoint(store, 0, next, 2);
    write(store, 0, 1);
    const { checkpointer } = await gateway(store, { signers: next });
    await covered(store);
    await checkpointer.close();
    expect(checkpointer).toMatchObject({ stopped: undefined, hasKey: true });
    expect((await verify(store.log, { trusted: [next(2).verifier] })).findings).toEqual([]);
  });
});

describe('the key', () => {
  test('is in the log once, whoever begins', async () => {
    const store = await begun();
    await gateway(store);
    expect((await keysOf(store.log)).believed.map(({ number, verifier }) => [number, verifier.text])).toEqual([
      [1, signers(1).verifier.text],
    ]);
  });

  test('that signs is the last of those that a checkpoint covers', async () => {
    const store = await begun();
    for (let n = 0; n < 2; n++) await rotateKey(store, signers, clock);
    const { checkpointer } = await gateway(store, { delayMs: 20 });
    await covered(store);
    await checkpointer.close();
    const [first, ...others] = checkpointsOf(store);
    expect(others).toEqual([]);
    expect(first?.key).toBe(3);
    expect(isSignedWith(first!.checkpoint.note, signers(3).verifier)).toBe(true);
  });

  test('signs up to the checkpoint that covers its rotation, and the next one from there on', async () => {
    const store = await begun();
    const { checkpointer } = await gateway(store);
    await covered(store);
    const next = await rotateKey(store, signers, clock);
    await covered(store);
    write(store, 0, 1);
    await covered(store);
    await checkpointer.close();
    const at = store.log.findIndex(({ type }) => type === 'audit.key_rotated');
    for (const { checkpoint, key } of checkpointsOf(store)) {
      const rightful = checkpoint.size > leavesOf({ ...store, log: store.log.slice(0, at) }).length ? 2 : 1;
      expect(key).toBe(rightful);
      expect(isSignedWith(checkpoint.note, signers(rightful).verifier)).toBe(true);
    }
    expect(next?.text).toBe(signers(2).verifier.text);
    const { believed } = await keysOf(store.log, signers);
    expect(believed.map(({ verifier }) => verifier.text)).toEqual(
      [1, 2].map((number) => signers(number).verifier.text),
    );
    expect((await keysOf(store.log, signersOf('another'))).believed).toEqual([]);
  });
});
