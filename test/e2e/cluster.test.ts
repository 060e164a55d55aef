// Lane: rest, timed: an event store of several nodes, whose clients give up the slow ones
import { cpSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { connect } from '../../src/eventstoredb/connect.ts';
import type { EventStore, Metadata, NewEvent } from '../../src/kernel/store/store.ts';
import { type Cluster, clusterOf } from '../support/cluster.ts';
import { collect, event } from '../support/events.ts';
import { type StoreProcess, storeProcess } from '../support/store-process.ts';
import { type Answer, askForKey, call, createKey, createProject, errorOf, itemsOf, type Made, paths } from './calls.ts';
import { eventually, freshDir, runWeir, type Server, startServer } from './server.ts';

// Nothing here is judged by how long it took: what is waited for has to come.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });
const patienceMs = 60_000;

const endings: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** One store with a cluster's three members in front of it. */
const clusterAt = async () => {
  const dir = freshDir('events');
  mkdirSync(dir);
  const node = await storeProcess(dir);
  const cluster = await clusterOf(node.endpoint);
  endings.push(async () => {
    await cluster.close();
    await node.kill();
  });
  return { dir, node, cluster };
};

const ready = (server: Server): Promise<Answer> => call(server, 'GET', '/v1/ready', { key: null });
const readiness = async (server: Server): Promise<string> => {
  const { status, body } = await ready(server);
  return status === 200 ? '200' : `${status} ${errorOf(body).message}`;
};
const told = (server: Server, message: string) => server.log().filter(({ msg }) => msg === message);
const infer = async (server: Server, key: string): Promise<number> => {
  const body = { model: 'weir-sim-1', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] };
  return (await call(server, 'POST', '/v1/messages', { key, body })).status;
};

describe('a gateway on a cluster', () => {
  let dir: string;
  let node: StoreProcess;
  let cluster: Cluster;
  let server: Server;
  /** Where checkpoints go that nobody of the cluster can rewrite. */
  let sink: string;
  /** Another application in the same store. */
  let other: EventStore;

  const everyMember = (work: (member: Cluster['members'][number]) => unknown) => Promise.all(cluster.members.map(work));
  const lifted = (until: (answer: string) => boolean) =>
    eventually(
      async () => until(await readiness(server)) || undefined,
      () => server.spawned.stderr(),
      patienceMs,
    );
  const isReady = () => lifted((said) => said === '200');

  /** Ready, and a command is taken whose outcome is known at once: a key that works. */
  const servesAgain = async (): Promise<Made> => {
    const key = await eventually(
      async () => {
        const { status, body } = await askForKey(server, server.first.project_id);
        return status === 201 ? { id: String(body.id), value: String(body.value) } : undefined;
      },
      () => server.spawned.stderr(),
      patienceMs,
    );
    await isReady();
    expect(await infer(server, key.value)).toBe(200);
    return key;
  };

  /** Ready is 503, so is every command, and inference does not feel it. */
  const isAway = async (): Promise<string> => {
    await lifted((said) => said.startsWith('503'));
    const said = await readiness(server);
    expect(said).toMatch(/^503 Not available: .*eventstore/);
    const refused = await askForKey(server, server.first.project_id);
    expect(`${refused.status} ${errorOf(refused.body).code}`).toBe('503 dependency_unavailable');
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(await infer(server, server.first.project_api_key)).toBe(200);
    return said;
  };

  beforeAll(async () => {
    ({ dir, node, cluster } = await clusterAt());
    other = connect({ url: cluster.url });
    endings.push(() => other.close());
    for (const stream of ['project-77', 'policy-7', 'organization-1'])
      await other.append(stream, [event(0)], 'no_stream');
    sink = join(dirname(dir), 'checkpoints');
    server = await startServer({ env: { EVENTSTORE_URL: cluster.url, AUDIT_SINKS: sink } });
    endings.push(() => server.kill());
  });

  test('passes over streams of another application that look like its own, and says so once for each', async () => {
    const streams = () => told(server, 'stream.passed_over').map(({ stream }) => stream);
    await eventually(() => streams().length === 3 || undefined);
    for (const stream of ['project-77', 'policy-7', 'organization-1']) await other.append(stream, [event(1)], 0);
    await other.append('project-78', [event(0)], 'no_stream');
    await eventually(() => streams().length > 3 || undefined);
    await servesAgain();
    expect(streams().sort()).toEqual(['organization-1', 'policy-7', 'project-77', 'project-78']);
    await server.stop();
    server = await startServer({ dataDir: server.dataDir, env: { EVENTSTORE_URL: cluster.url, AUDIT_SINKS: sink } });
    await servesAgain();
  });

  test('passes over what another application has written onto a stream of its own, in commands as in lists', async () => {
    const id = await createProject(server);
    const theirs: NewEvent[] = [
      { ...event(0), type: 'project.archived', data: {}, metadata: {} as Metadata },
      { ...event(1), metadata: {} as Metadata },
    ];
    await other.append(`project-${id}`, theirs, 0);
    const renamed = await call(server, 'POST', `${paths.projects}/${id}`, { body: { name: 'still ours' } });
    expect(renamed).toMatchObject({ status: 200, body: { name: 'still ours', status: 'active' } });
    expect(await call(server, 'GET', `${paths.projects}/${id}`)).toMatchObject({ body: renamed.body });
    const history = await runWeir(['audit', 'history', id, '--jsonl'], server.env);
    expect(history.code).toBe(0);
    expect(history.stdout.match(/project\.\w+/g)).toEqual(['project.created', 'project.updated']);
  });

  /** What `weir audit verify` says of the cluster's log, once all of it is signed. */
  const verified = () =>
    eventually(
      async () => {
        const { code, stdout } = await runWeir(['audit', 'verify', '--jsonl'], server.env);
        const report = JSON.parse(stdout) as { uncovered: number; outside: number; findings: { class: string }[] };
        return report.uncovered === 0 ? { code, ...report } : undefined;
      },
      () => server.spawned.stderr(),
      patienceMs,
    );

  test('has its log verified over the port of its clients, against what the sink has, beside another application', async () => {
    await createProject(server, 'to be verified');
    const { code, findings, outside } = await verified();
    expect([code, findings]).toEqual([0, []]);
    expect(outside).toBeGreaterThan(9);
  });

  test('is ready behind 20,000 events of another application at the end of the log, and knows how old its knowledge is', async () => {
    for (let n = 0; n < 40; n++) {
      const events = Array.from({ length: 500 }, (_, each) => event(n * 500 + each));
      await other.append('counts-1', events, n === 0 ? 'no_stream' : n * 500 - 1);
    }
    await isReady();
    await eventually(async () => {
      const { body } = await call(server, 'GET', '/v1/ready?verbose', { key: null });
      return (typeof body.age_ms === 'number' && body.age_ms < 2_000) || undefined;
    });
    await servesAgain();
  });

  test('of which all nodes die and come back goes on without a restart', async () => {
    const underWay = Array.from({ length: 5 }, () => askForKey(server, server.first.project_id));
    await everyMember((member) => member.kill());
    for (const { status } of await Promise.all(underWay)) expect([201, 503]).toContain(status);
    await isAway();
    cluster.lead(undefined);
    await everyMember((member) => member.revive());
    // They say "no leader" for longer than discovery asks them: ten times, one after another.
    const asked = () => cluster.members.reduce((sum, member) => sum + member.asked('Read'), 0);
    const before = asked();
    await eventually(
      () => asked() > before + 40 || undefined,
      () => server.spawned.stderr(),
      patienceMs,
    );
    await isAway();
    cluster.lead(1);
    await servesAgain();
    expect(told(server, 'store.lost').length).toBe(told(server, 'store.back').length);
  });

  test('without a quorum refuses commands at once, and takes them when there is a leader again', async () => {
    cluster.lead(undefined);
    await isAway();
    cluster.lead(2);
    await servesAgain();
  });

  test('goes on when its leader freezes and another is elected', async () => {
    cluster.members[2]!.freeze();
    cluster.lead(0);
    await servesAgain();
    cluster.members[2]!.thaw();
    await servesAgain();
  });

  test('goes on when its leader is killed and another is elected', async () => {
    cluster.members[0]!.kill();
    cluster.lead(1);
    await servesAgain();
    await cluster.members[0]!.revive();
  });

  test('does not feel the followers freeze, also where its connection string prefers them', async () => {
    await server.stop();
    const url = cluster.url.replace('nodePreference=leader', 'nodePreference=follower');
    server = await startServer({ dataDir: server.dataDir, env: { EVENTSTORE_URL: url, AUDIT_SINKS: sink } });
    await servesAgain();
    cluster.members[0]!.freeze();
    cluster.members[2]!.freeze();
    await servesAgain();
    expect(told(server, 'store.lost')).toEqual([]);
    cluster.members[0]!.thaw();
    cluster.members[2]!.thaw();
    await server.stop();
    server = await startServer({ dataDir: server.dataDir, env: { EVENTSTORE_URL: cluster.url, AUDIT_SINKS: sink } });
  });

  test.each([
    ['password', 'refuses the user or password'],
    ['rights', 'denies this user the right to read $all'],
  ] as const)('that refuses the %s of a running gateway keeps it from commands alone', async (why, sentence) => {
    await everyMember((member) => member.refuseUsers(why));
    // What follows the log has to come again as well.
    await everyMember(async (member) => {
      member.kill();
      await member.revive();
    });
    await lifted((said) => said.includes(sentence));
    expect(await isAway()).toContain(sentence);
    expect(errorOf((await askForKey(server, server.first.project_id)).body).message).toContain(sentence);
    await everyMember((member) => member.refuseUsers(undefined));
    await servesAgain();
  });

  test('builds its models anew when an older backup is restored beneath it, and says so', async () => {
    const kept = await createProject(server, 'in the backup');
    await node.kill();
    const copy = `${dirname(dir)}/restored`;
    cpSync(dir, copy, { recursive: true, filter: (file) => !file.endsWith('.sock') });
    node = await storeProcess(dir);
    endings.push(() => node.kill());
    cluster.moveTo(node.endpoint);
    await servesAgain();
    const lost = await createProject(server, 'not in the backup');
    const { value } = await createKey(server, lost);
    expect(await infer(server, value)).toBe(200);
    const listed = async () => (await itemsOf(server, paths.projects)).map(({ id }) => id);
    await eventually(async () => (await listed()).includes(lost) || undefined);

    const restored = await storeProcess(copy);
    endings.push(() => restored.kill());
    cluster.moveTo(restored.endpoint);
    await node.kill();
    // The last to begin again: by then the models have been built.
    await eventually(
      () => told(server, 'reactors.begun_again')[0],
      () => server.spawned.stderr(),
      patienceMs,
    );
    await servesAgain();
    expect(await listed()).toContain(kept);
    expect(await listed()).not.toContain(lost);
    await eventually(async () => (await infer(server, value)) === 401 || undefined);
    expect(told(server, 'projection.rebuilt').map(({ reason }) => reason)).toEqual([
      'another log is in the place of the one that was followed: the log ends before its place',
    ]);
    expect(told(server, 'reactors.begun_again')).toHaveLength(1);
    const { code, findings } = await verified();
    expect(code).toBe(1);
    expect(['forked', 'rolled-back']).toContain(findings[0]?.class);
  });

  // The last: from here on the log holds what cannot be.
  test('with an event of ours in its log that the law refuses serves what it knows, and names what stands still', async () => {
    const stream = `project-${server.first.project_id}`;
    const events = await collect(other.read(stream));
    await other.append(stream, [{ ...events[0]!, id: event(0).id }], events.length - 1);
    const named =
      /^503 Not available: read models \(projects stands still at revision \d+ of project-proj_\w+: proj_\w+ is active and does not admit project\.created\)/;
    const standsStill = async () => {
      await lifted((said) => named.test(said));
      expect(await infer(server, server.first.project_api_key)).toBe(200);
    };
    await standsStill();
    expect(told(server, 'follower.stopped')).toMatchObject([{ follower: 'projects', stream, revision: events.length }]);
    await server.stop();
    server = await startServer({ dataDir: server.dataDir, env: { EVENTSTORE_URL: cluster.url, AUDIT_SINKS: sink } });
    await standsStill();
  });
});

test('a gateway and a cluster that are started together: users that are not known yet are waited for', async () => {
  const { cluster } = await clusterAt();
  for (const member of cluster.members) member.refuseUsers('password');
  const starting = startServer({ env: { EVENTSTORE_URL: cluster.url } });
  const asked = () => cluster.members.reduce((sum, member) => sum + member.asked('Read'), 0);
  await Promise.race([eventually(() => asked() > 6 || undefined, undefined, patienceMs), starting]);
  for (const member of cluster.members) member.refuseUsers(undefined);
  const server = await starting;
  endings.push(() => server.kill());
  expect((await createKey(server, server.first.project_id)).id).toMatch(/^key_/);
  expect(told(server, 'store.awaited').map(({ reason }) => reason)).toContainEqual(
    expect.stringMatching(/refuses the user/),
  );
});
