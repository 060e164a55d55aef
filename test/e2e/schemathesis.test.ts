// Lane: daily, alone: a client in Python
import { beforeAll, describe, test, vi } from 'vitest';
import { createAdminKey, createKey, createProject } from './calls.ts';
import { hunt, installed } from './schemathesis.ts';
import { type Server, startServer } from './server.ts';

/** A foreign reader takes the document of a running gateway at its word: --checks all, both kinds of key. */

/** So many examples of each operation; CI has a hundred of each, once. */
const examples = Number(process.env.SCHEMATHESIS_EXAMPLES ?? 10);

vi.setConfig({ testTimeout: 600_000, hookTimeout: 240_000 });

let server: Server;
let tool: Awaited<ReturnType<typeof installed>>;
beforeAll(async () => {
  [server, tool] = await Promise.all([startServer(), installed()]);
});

describe('schemathesis has nothing to say', () => {
  const projectKey = async () => (await createKey(server, await createProject(server, 'hunted'))).value;
  // Of its own: what is asked for may end the credentials that are found.
  const adminKey = async () => (await createAdminKey(server, { name: 'hunter' })).value;

  test.concurrent.for([
    ['of inference, with a project key', '^/v1/(messages|models|credits|health|ready)', projectKey],
    ['of chat completions and responses, with a project key', '^/v1/(chat|responses)', projectKey],
    ['of projects, their keys and OAuth, with an Admin key', '^/v1/(organization/projects|oauth)', adminKey],
    ['of all other administration, with an Admin key', '^/v1/organization(?!/projects)', adminKey],
  ] as const)('%s', async ([, paths, keyOf], { expect, skip }) => {
    if ('missing' in tool) return skip(`schemathesis cannot be had here: ${tool.missing}`);
    const { judged, findings, errors } = await hunt(tool.command, {
      baseUrl: server.baseUrl,
      key: await keyOf(),
      paths,
      examples,
    });
    expect(errors).toEqual([]);
    expect(findings).toEqual([]);
    expect(judged).toBeGreaterThan(500);
  });
});
