// Lane: rest: a thousand creations, each of four durable steps
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { anyEventLog, type EventLog } from '../../src/app/log/event-log.ts';
import { replayOf } from '../../src/audit/history.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Recorded } from '../../src/kernel/store/store.ts';
import { archive, askForKey, createProject, errorOf, itemsOf, type Made, paths, use } from './calls.ts';
import { weirHere } from './here.ts';
import { eventually, type Server, startServer } from './server.ts';

// On a machine that may be busy with other things.
vi.setConfig({ testTimeout: 180_000 });

describe('a server', () => {
  let server: Server;
  /** The events of the running server, read beside it. */
  let events: EventLog;
  beforeAll(async () => {
    server = await startServer();
    events = await anyEventLog(readConfig(server.env));
  });
  afterAll(async () => {
    await events?.close();
    await server?.stop();
  });

  const typesOf = async (id: string): Promise<string[]> =>
    (await replayOf(events.store, id)).events.map(({ type }) => type);

  test('leaves no usable key behind in 1,000 races of creation against archive', async () => {
    const raced: Raced[] = [];
    const lanes = Array.from({ length: 10 }, async (_, lane) => {
      for (let i = 0; i < 10; i++) raced.push(await race(server, (lane + i) % 10, i % 2 === 0 ? 10 : 5));
    });
    await Promise.all(lanes);
    const keys = raced.flatMap((each) => each.keys);
    const refused = raced.reduce((sum, each) => sum + each.refused, 0);
    const untold = raced.reduce((sum, each) => sum + each.untold, 0);
    expect(keys.length + refused + untold).toBe(1000);
    // Both sides win often enough for it to have been a race.
    expect(keys.length).toBeGreaterThan(50);
    expect(refused).toBeGreaterThan(50);

    const usable: string[] = [];
    await inLanes(8, keys, async ({ value, id }) => {
      if ((await use(server, value)) !== '401 api_key_revoked') usable.push(id);
    });
    expect(usable).toEqual([]);
    for (const { project, keys: own, untold } of raced) {
      const listed = await itemsOf(server, paths.projectKeys(project));
      expect(listed.filter(({ status }) => status !== 'revoked')).toEqual([]);
      // What was answered with 201 is there, and nothing else is: a refused creation leaves no key.
      expect(listed.map(({ id }) => id)).toEqual(expect.arrayContaining(own.map(({ id }) => id)));
      expect(listed.length).toBe(own.length + untold);
    }

    // Each key's own stream records it in the end, for the archive's sake.
    const last = async (id: string): Promise<Recorded> => (await replayOf(events.store, id)).events.at(-1) as Recorded;
    for (const { id } of keys) {
      const event = await eventually(
        async () => {
          const found = await last(id);
          return found.type === 'project_key.revoked' ? found : undefined;
        },
        () => `${id} has no project_key.revoked`,
        30_000,
      );
      expect(event.data).toEqual({ reason: 'project_archived' });
      expect(event.metadata.actor.type).toBe('system');
      expect(withoutReplays(await typesOf(id))).toEqual(['project_key.created', 'project_key.revoked']);
    }
    for (const { id } of keys.slice(0, 2)) {
      const { code, stdout, stderr } = await weirHere(['audit', 'history', id, '--jsonl'], {
        DATA_DIR: server.dataDir,
      });
      expect(`${code} ${stderr}`).toBe('0 ');
      const lines = stdout.trimEnd().split('\n');
      expect(withoutReplays(lines.map((line) => (JSON.parse(line) as Recorded).type))).toEqual([
        'project_key.created',
        'project_key.revoked',
      ]);
    }
    expect(server.log().filter(({ msg }) => msg === 'reaction.failed' || msg === 'request.failed')).toEqual([]);
  });
});

/** A creation that got a 503 at first and was repeated has shown its value again. */
const withoutReplays = (types: readonly string[]) => types.filter((type) => type !== 'project_key.value_replayed');

/** Works off `items`, so many at a time. */
const inLanes = async <T>(width: number, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> => {
  const left = [...items];
  const lane = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: width }, lane));
};

interface Raced {
  readonly project: string;
  readonly keys: readonly Made[];
  readonly refused: number;
  /** Made and revoked before their creator had an answer: a 503 came first, and the repeat came after the archive. */
  readonly untold: number;
}

/** Ten creations, so many at a time, and an archive, which goes out when `head` of the creations are answered. */
const race = async (server: Server, head: number, width: number): Promise<Raced> => {
  const project = await createProject(server);
  const keys: Made[] = [];
  let refused = 0;
  let untold = 0;
  let answered = 0;
  let archived: Promise<void> | undefined;
  const archiveNow = async (): Promise<void> => {
    let { status, text } = await archive(server, project);
    while (status === 503) ({ status, text } = await archive(server, project));
    if (status !== 200) throw new Error(`the archive was answered with ${status} ${text}`);
    // What was made before works no more, although other creations are still on their way.
    for (const got of await Promise.all(keys.map(({ value }) => use(server, value)))) {
      if (!got.startsWith('401 ')) throw new Error(`right after the archive a key of its project got ${got}`);
    }
  };
  const archiveAt = (count: number): void => {
    if (count === head) archived ??= archiveNow();
  };
  const create = async (): Promise<void> => {
    // Who is told to come back comes back with the same key, as a client does.
    const idempotencyKey = randomUUID();
    let answer = await askForKey(server, project, undefined, idempotencyKey);
    let repeated = false;
    for (; answer.status === 503; repeated = true) answer = await askForKey(server, project, undefined, idempotencyKey);
    const { status, body, text } = answer;
    if (status === 201) keys.push({ id: String(body.id), value: String(body.value) });
    else if (errorOf(body).code === 'project_archived') refused += 1;
    else if (repeated && errorOf(body).code === 'idempotency_result_unavailable') untold += 1;
    else throw new Error(`neither made nor refused: ${status} ${text}`);
    answered += 1;
    archiveAt(answered);
  };
  archiveAt(0);
  await inLanes(width, Array(10).fill(null), create);
  await archived;
  return { project, keys, refused, untold };
};
