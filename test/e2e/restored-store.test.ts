// Lane: rest: an event store that is killed and restored
import { cpSync, rmSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { startRemoteStore } from '../support/tls-store.ts';
import { type Answer, call, createProject, dataOf, paths } from './calls.ts';
import { weirHere } from './here.ts';
import { eventually, patienceMs } from './process.ts';
import { type Server, startServer } from './server.ts';

// The store starts twice in each round, on a machine that may be busy with other things.
vi.setConfig({ testTimeout: 240_000 });

const rounds = 2;

interface Verified {
  readonly findings: readonly unknown[];
  readonly uncovered: number;
  readonly covered: number;
}

/** Once all is signed. */
const verified = (server: Server): Promise<Verified & { readonly code: number | null }> =>
  eventually(async () => {
    const { code, stdout } = await weirHere(['audit', 'verify', '--jsonl'], server.env);
    const report = { code, ...(JSON.parse(stdout) as Verified) };
    return report.uncovered === 0 || report.findings.length > 0 ? report : undefined;
  });

/** Puts a copy of a folder in another's place. */
const replace = (folder: string, by: string): void => {
  rmSync(folder, { recursive: true, force: true });
  cpSync(by, folder, { recursive: true, filter: (path) => !path.endsWith('.sock') });
};

/** Until an answer is what it has to be; what it last was is told where it never is. */
const until = async <T>(ask: () => Promise<Answer>, isRight: (answer: Answer) => T | undefined): Promise<T> => {
  let last: Answer | undefined;
  return eventually(
    async () => {
      last = await ask();
      return isRight(last);
    },
    () => `${last?.status} ${last?.text}`,
    patienceMs,
  );
};

const isReady = (server: Server) =>
  until(
    () => call(server, 'GET', '/v1/ready?verbose', { key: null }),
    ({ status, body }) => (status === 200 ? body : undefined),
  );

test('an older copy of the store is put back under gateways that write: nothing of what is lost is signed into it', async () => {
  const store = await startRemoteStore();
  const kept = `${store.dir}.kept`;
  const env = { EVENTSTORE_URL: store.url, PEPPER: '1'.repeat(64), MASTER_KEY: '2'.repeat(64) };
  const first = await startServer({ env });
  const servers = [first, await startServer({ env })];
  try {
    for (let round = 0; round < rounds; round++) {
      const known = await createProject(first, 'in the copy');
      await store.kill();
      replace(kept, store.dir);
      await store.startAgain();
      for (const server of servers) await isReady(server);
      const lost = await until(
        () => call(first, 'POST', paths.projects, { body: { name: 'not in the copy' } }),
        ({ status, body }) => (status === 201 ? String(body.id) : undefined),
      );
      await store.kill();
      replace(store.dir, kept);
      await store.startAgain();
      const listed = await until(
        () => call(first, 'GET', `${paths.projects}?limit=100`),
        (answer) => {
          const ids = answer.status === 200 ? dataOf(answer).map(({ id }) => id) : [lost];
          return ids.includes(lost) ? undefined : ids;
        },
      );
      expect(listed).toContain(known);
      for (const server of servers)
        expect((await isReady(server)).audit_log).toEqual({ signed: true, passed_over: [] });
      expect(await verified(first)).toMatchObject({ code: 2, findings: [] });
    }
  } finally {
    for (const server of servers) await server.kill();
    await store.kill();
  }
});
