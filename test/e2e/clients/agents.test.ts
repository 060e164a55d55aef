import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { fromNpm, type Kept } from '../../support/kept.ts';
import { eventually } from '../server.ts';
import { type Agent, agents, type Task } from './agents.ts';
import { stageOfKinds } from './kinds.ts';

/**
 * Coding agents against a running gateway, each without a terminal and with one task: the provider has it read a file, gets what stands
 * there, and says it.
 */

vi.setConfig({ testTimeout: 300_000, hookTimeout: 600_000 });

const run = promisify(execFile);
const mostMs = 120_000;

let stage: Awaited<ReturnType<typeof stageOfKinds>>;
let installed: ReadonlyMap<Agent, Kept>;
beforeAll(async () => {
  stage = await stageOfKinds();
  const each = agents.map(async (agent) => {
    const name = `agent-${agent.name.toLowerCase().replace(' ', '-')}`;
    return [agent, await fromNpm(name, agent.packages)] as const;
  });
  installed = new Map(await Promise.all(each));
});
afterAll(() => stage?.close());

/** Its environment has nothing of ours, and a way to the gateway alone: it can neither tell of itself nor load what is newer. */
const environmentOf = ({ home, key }: Task, { env = {} }: Agent) => ({
  PATH: process.env.PATH,
  HOME: home,
  TMPDIR: home,
  WEIR_KEY: key,
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  NO_PROXY: '127.0.0.1',
  ...env,
});

/** What it has written when it ended. */
const perform = async (agent: Agent, task: Task, prompt: string): Promise<string> => {
  for (const [name, content] of Object.entries(agent.settings?.(task) ?? {})) {
    const path = join(task.home, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  }
  const options = { cwd: task.home, env: environmentOf(task, agent), timeout: mostMs, killSignal: 'SIGKILL' } as const;
  const [program, ...args] = agent.command(task, prompt);
  const running = run(program, args, options);
  // Some wait for more of the prompt.
  running.child.stdin?.end();
  const { stdout, stderr } = await running;
  return `${stdout}\n${stderr}`;
};

const endIfAt = (home: string, pid: string): boolean => {
  try {
    const isIts = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`HOME=${home}`);
    if (isIts) process.kill(Number(pid), 'SIGKILL');
    return isIts;
  } catch {
    // It has ended, or is someone else's.
    return false;
  }
};

/** An agent may leave a process in a session of its own behind, which writes in its home until it ends. */
const endAllAt = (home: string): Promise<true> =>
  eventually(
    () => {
      // Other systems have no such folder, and not the programs of agents that leave something.
      const pids = existsSync('/proc') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
      return pids.filter((pid) => endIfAt(home, pid)).length === 0 || undefined;
    },
    () => 'what the agent has left running has not ended',
  );

describe.each(agents)('$name', (agent) => {
  test.for(agent.kinds)('calls a tool, with a model whose provider speaks %s', async (model, { skip }) => {
    const kept = installed.get(agent)!;
    if ('missing' in kept) return skip(`${agent.name} cannot be had here: ${kept.missing}`);
    const home = mkdtempSync(join(tmpdir(), 'weir-agent-home-'));
    const file = join(home, 'weather.txt');
    writeFileSync(file, 'Sunny in Lisbon\n');
    const task = {
      installed: kept.dir,
      home,
      file,
      url: `${stage.server.baseUrl}/v1`,
      key: stage.server.first.project_api_key,
      model,
    };
    try {
      const written = await perform(agent, task, `Call ${agent.asks(file)}`);
      expect(written).toMatch(/The tool said: .*Sunny in Lisbon/s);
    } finally {
      await endAllAt(home);
      rmSync(home, { recursive: true, force: true });
    }
    const bodies = stage.received().map(({ body }) => body);
    // Without tools it asks for a title.
    const turns = bodies.filter((body) => JSON.stringify(body).includes(file) && (body.tools ?? []).length > 0);
    expect(turns.map((body) => body.stream)).toEqual([true, true]);
    expect(turns.map((body) => JSON.stringify(body).includes('Sunny in Lisbon'))).toEqual([false, true]);
  });
});

test('the gateway has failed at none of it', () => {
  expect(stage.server.log().filter(({ level }) => level >= 50)).toEqual([]);
});
