import { Command } from 'commander';
import { checkpointStream } from '../../audit/log/leaf.ts';
import { isSignedByOne, leafList, proofOf } from '../../audit/log/proof.ts';
import { prefixes } from '../../domain/streams.ts';
import { canonicalEvent } from '../../kernel/store/event-hash.ts';
import type { EventStore, Recorded } from '../../kernel/store/store.ts';
import { type SignedCheckpoint, tlogProof } from '../../merkle/checkpoint.ts';
import { consistencyProof, isConsistent, isIncluded, rootOf } from '../../merkle/tree.ts';
import { Failure } from '../../process/failure.ts';
import { onLog } from '../operator.ts';
import { printable, type Terminal, UsageError } from '../terminal.ts';
import { checkpointsIn, logKeys } from './audit-source.ts';

const place = /^([a-zA-Z]+-[a-z0-9_]+)@(\d{1,9})$/;

/** Stream categories by the prefix of their ids. */
const categories = new Map(Object.entries(prefixes).map(([category, prefix]) => [prefix, category]));

/** The event that `<stream>@<revision>` or `<id>@<revision>` names. */
const eventAt = async (store: EventStore, text: string): Promise<Recorded> => {
  const category = categories.get(text.slice(0, Math.max(0, text.indexOf('_'))));
  const [, stream, revision] = place.exec(category === undefined ? text : `${category}-${text}`) ?? [];
  if (stream === undefined) {
    throw new UsageError(
      `${printable(text)} is no place of an event: give <stream>@<revision> or <id>@<revision>, such as project-proj_…@0 or proj_…@0.`,
    );
  }
  for await (const event of store.read(stream, { from: Number(revision), limit: 1 })) {
    if (event.revision === Number(revision)) return event;
  }
  throw new Failure(printable(`There is no event at revision ${revision} of ${stream}.`));
};

export const proveCommand = (terminal: Terminal): Command =>
  new Command('prove')
    .description('Print the proof that an event is in the log, to be checked elsewhere (c2sp.org/tlog-proof)')
    .argument('<event>', '<stream>@<revision>, as weir audit history shows them, or <id>@<revision>')
    .option('--leaf', 'print what is hashed instead: the event’s canonical form, or its stub')
    .action((text: string, options: { leaf?: true }) =>
      onLog(terminal, async ({ store }, config) => {
        const event = await eventAt(store, text);
        if (event.stream === checkpointStream) {
          throw new Failure('A checkpoint is no leaf of the tree: it signs the tree.');
        }
        const leaves = await leafList(store.read(checkpointStream), await logKeys(terminal, config, store));
        const { newest, indexOf } = leaves;
        const canonical = canonicalEvent(event);
        const proof = newest && proofOf(event, { canonical, leaves, indexOf, size: newest.size });
        if (!proof || !newest)
          throw new Failure('No checkpoint covers the event as it is: wait a second, or run weir audit verify.');
        const leaf = leaves.at(0, proof.index);
        if (!isIncluded(leaf, proof.index, newest.size, proof.hashes, newest.root)) {
          throw new Failure('The log does not bear the proof out: run weir audit verify.');
        }
        terminal.out(options.leaf ? proof.leaf : tlogProof(proof.index, proof.hashes, newest.signed));
      }),
    );

const checkpointIn = (terminal: Terminal, path: string): SignedCheckpoint => {
  const found = checkpointsIn(path, (says) => terminal.err(`${printable(says)}\n`));
  return found.at(-1) as SignedCheckpoint;
};

export const consistencyCommand = (terminal: Terminal): Command =>
  new Command('consistency')
    .description('Prove that the log of one checkpoint has become that of another; exit status 1 where it has not')
    .argument('<older>', 'a file with a checkpoint; of several the last counts')
    .argument('<newer>', 'another')
    .action((older: string, newer: string) =>
      onLog(terminal, async ({ store }, config) => {
        const [one, two] = [checkpointIn(terminal, older), checkpointIn(terminal, newer)];
        const keys = await logKeys(terminal, config, store);
        for (const [path, checkpoint] of [
          [older, one],
          [newer, two],
        ] as const) {
          if (!isSignedByOne(checkpoint, keys.believed))
            throw new Failure(`The checkpoint in ${printable(path)} is not signed by a key of this log.`);
        }
        if (one.size > two.size) throw new Failure('The second checkpoint is the older one.');
        const leaves = await leafList(store.read(checkpointStream), keys);
        const size = leaves.newest?.size ?? 0;
        if (two.size > size) throw new Failure(`The log has ${size} leaves, and the checkpoint ${two.size}.`);
        const proof = consistencyProof(leaves, one.size, two.size);
        const holds = isConsistent(one, two, proof) && rootOf(leaves, two.size).equals(two.root);
        if (!holds) throw new Failure('They are of logs that went different ways.');
        terminal.out(proof.map((hash) => `${hash.toString('base64')}\n`).join(''));
      }),
    );
