/**
 * A mistake that somebody could make, and the tests that are there to notice it. Modules that `test/mutation` changes piece by
 * piece have none here.
 */
export interface PlantedFault {
  readonly title: string;
  /** Of the source, from the project's root. */
  readonly file: string;
  /** What stands there once, and what is put in its place. */
  readonly from: string;
  readonly to: string;
  /** A file or folder of tests, and which of them by their names. */
  readonly test: string;
  readonly only?: string;
}

const store: readonly PlantedFault[] = [
  {
    title: 'a commit is not synced to the disk',
    file: 'src/embedded/store/database.ts',
    from: 'eventTurnBatching: false, noSync }',
    to: 'eventTurnBatching: false, noSync: noSync || true }',
    test: 'test/torture/disk.test.ts',
    only: 'D3',
  },
  {
    title: 'an append is answered before its commit',
    file: 'src/embedded/store/commit/writer.ts',
    from: 'else batch.replies.push(() => reply(outcome));',
    to: 'else reply(outcome);',
    test: 'test/torture/disk.test.ts',
    only: 'D3',
  },
  {
    title: 'the error of a commit is swallowed',
    file: 'src/embedded/store/commit/group-commit.ts',
    from: 'if (this.options.faults.ignoreCommitErrors) this',
    to: 'if (this.commits > 0) this',
    test: 'test/torture/disk.test.ts',
    only: 'D4',
  },
  {
    title: 'an append at an old revision is written all the same',
    file: 'src/embedded/store/commit/decide.ts',
    from: 'if (revision < stream.last) return',
    to: 'if (revision < stream.last && ids.length === 0) return',
    test: 'test/contract/append.test.ts',
  },
  {
    title: 'a repeated append is written again',
    file: 'src/embedded/store/commit/decide.ts',
    from: 'recent.find(id, stream.name)',
    to: "recent.find(id, stream.name + '!')",
    test: 'test/contract/append.test.ts',
  },
  {
    title: 'a record with a wrong checksum is handed out',
    file: 'src/embedded/store/read/reader.ts',
    from: 'if (!this.faults.skipChecksums) verifyRecord',
    to: 'if (this.faults.skipChecksums) verifyRecord',
    test: 'test/torture/disk.test.ts',
    only: 'D6',
  },
  {
    title: 'a reaction that failed is passed over',
    file: 'src/kernel/followers/reactor-follower.ts',
    from: 'await pause(wait, undefined, { signal }).catch(() => {});',
    to: 'return true;',
    test: 'test/kernel/reactor.test.ts',
  },
];

const proof: readonly PlantedFault[] = [
  {
    title: 'the chain of a stream is not looked at when it is loaded',
    file: 'src/kernel/aggregate/fold.ts',
    from: 'if (metadata.prev === prevOf(last).prev) return;',
    to: 'if (metadata.prev !== null) return;',
    test: 'test/kernel/chain.test.ts',
  },
  {
    title: 'whoever has signed a checkpoint is believed',
    file: 'src/audit/log/verify/key-ring.ts',
    from: 'believed.slice(inForce).find(({ verifier }) => isSignedWith(note, verifier))',
    to: 'believed.slice(inForce).find(() => true)',
    test: 'test/audit/log/verify.test.ts',
  },
  {
    title: 'a key is believed because it is in the log',
    file: 'src/audit/log/key-belief.ts',
    from: 'isNew && (isKnown(key) || follows(key))',
    to: 'isNew',
    test: 'test/audit/log/verify.test.ts',
  },
  {
    title: 'the stub of an event that is gone excuses it, whoever has written the stub',
    file: 'src/audit/log/verify/align.ts',
    from: 'leafHash(stub) === hash',
    to: 'hash !== undefined',
    test: 'test/audit/log/verify.test.ts',
  },
];

const limits: readonly PlantedFault[] = [
  {
    title: 'a spend limit is looked at, and nothing is held in it',
    file: 'src/data/account/credit.ts',
    from: 'places.push([this.#ofLimits, each])',
    to: 'places.push([new Map(), each])',
    test: 'test/e2e/spend-kills.test.ts',
  },
  {
    title: 'a request holds its price within the limits that there are, and not within those that are set meanwhile',
    file: 'src/data/account/credit.ts',
    from: 'else spenders = each.spenders;',
    to: 'else spenders = [...spenders, each.id];',
    test: 'test/e2e/spend-kills.test.ts',
  },
  {
    title: 'after a restart every window is empty',
    file: 'src/limits/snapshot/snapshot-files.ts',
    from: 'return restore(options.store, buffers, options.clock.wall(), options.clock.monotonic())',
    to: 'return restore(options.store, [], options.clock.wall(), options.clock.monotonic())',
    test: 'test/limits/snapshot-files.test.ts',
  },
  {
    title: 'a request whose client has left stays in flight',
    file: 'src/http/exchange/exchange.ts',
    from: 'settle(): void {\n    this.request.lease?.end();\n',
    to: 'settle(): void {\n    if (!this.writer.gone) this.request.lease?.end();\n',
    test: 'test/inference/limits-charges.test.ts',
  },
];

const administration: readonly PlantedFault[] = [
  {
    title: 'a revoked key works until the read models know',
    file: 'src/data/access/directory.ts',
    from: '      refused.set(id, { position, reason });\n',
    to: '',
    test: 'test/access/directory.test.ts',
  },
  {
    title: 'a request that is held back outlives the key that began it',
    file: 'src/data/access/leases.ts',
    from: 'return stale === true || (expiresAt',
    to: 'return stale === undefined || (expiresAt',
    test: 'test/matrix/credential-changes.test.ts',
    only: 'has been',
  },
  {
    title: 'nobody asks for the permission',
    file: 'src/data/access/credential-refusals.ts',
    from: 'if (!found.permissions.has(access.permission)) return',
    to: "if (access.permission.endsWith('?')) return",
    test: 'test/matrix',
  },
  {
    title: 'a project is found by its id in any organization',
    file: 'src/admin/organization/projects.ts',
    from: 'const row = admin.models.get(projectRows, projectKeyOf(call.principal.organizationId, call.params.project_id));',
    to: "const all = admin.models.range(projectRows, { prefix: '', limit: 1000 });\n    const row = all.find((each) => each.row.id === call.params.project_id)?.row;",
    test: 'test/matrix',
  },
  {
    title: 'an answer does not wait for the lists to have what it made',
    file: 'src/admin/command.ts',
    from: 'await models.reached(position, ',
    to: 'void models.reached(position, ',
    test: 'test/admin/keys.test.ts',
  },
  {
    title: 'the last of two lengths is believed',
    file: 'src/http/request/framing.ts',
    from: 'if ((seen & bit) !== 0) return malformed',
    to: 'if ((seen & bit) !== 0 && bit !== 8) return malformed',
    test: 'test/http/smuggling.test.ts',
  },
];

const upstreams: readonly PlantedFault[] = [
  {
    title: 'the next upstream is asked where one may be at work',
    file: 'src/data/upstream/balance/first-of.ts',
    from: '!error.begun && isItsOwn(error)',
    to: 'isItsOwn(error)',
    test: 'test/upstream/balance/failover.test.ts',
  },
  {
    title: 'failovers have no budget',
    file: 'src/data/upstream/balance/first-of.ts',
    from: '(failure !== null && !group.retries.take())',
    to: '(failure !== null && group.members.length === 0)',
    test: 'test/upstream/balance/first-of.test.ts',
  },
  {
    title: 'a probe is not alone',
    file: 'src/data/upstream/balance/breaker.ts',
    from: 'return this.#probe === null && ',
    to: 'return ',
    test: 'test/upstream/balance/first-of.test.ts',
  },
];

/** The long test Q1 (test/README.md): planted one at a time, each has to be noticed. */
export const plantedFaults: readonly PlantedFault[] = [...store, ...proof, ...limits, ...administration, ...upstreams];
