import { call, createAdminKey, createProject, errorOf, itemsOf, type Json, paths, use } from './calls.ts';
import { type Server, startServer } from './server.ts';

/** One Idempotency-Key of one credential: what was first sent with it, and every answer. */
interface Scope {
  readonly idempotencyKey: string;
  readonly credential: string;
  readonly project: string;
  readonly name: string;
  /** The 201s, as text. */
  readonly texts: Set<string>;
}

export interface KillsReport {
  readonly server: Server;
  readonly faults: readonly string[];
  readonly requests: number;
  readonly repeats: number;
  readonly kills: number;
  readonly scopes: readonly Scope[];
}

const writers = 8;
/** A reservation that a crash left is taken up after 30 seconds. */
const abandonedMs = 31_000;

/**
 * Creations of keys from many writers, three in ten of them repeated, while the server is killed again and again: between
 * an append and its answer, as it comes. Every 201 of one credential and Idempotency-Key has the same bytes, another body
 * is refused, another credential makes a key of its own, and no key is there twice (the long test K8).
 */
export const idempotencyUnderKills = async (options: {
  readonly requests: number;
  readonly kills: number;
  /** Waits until every reservation can be taken up, and finishes all of them. */
  readonly isThorough: boolean;
  readonly random: () => number;
}): Promise<KillsReport> => {
  const { random } = options;
  const below = (n: number): number => Math.floor(random() * n);
  let server = await startServer();
  const projects: string[] = [];
  // A project has a thousand live keys at most.
  for (let i = 0; i <= options.requests / 500; i++) projects.push(await createProject(server, `project ${i}`));
  const second = await createAdminKey(server, { name: 'second' });
  const credentials = [server.first.admin_api_key, second.value];
  const scopes: Scope[] = [];
  const faults: string[] = [];
  let [requests, repeats, kills] = [0, 0, 0];

  const newScope = (idempotencyKey?: string, credential = credentials[0]!): Scope => {
    const number = scopes.length;
    const key = idempotencyKey ?? `a-key-that-nobody-may-find-${number}`;
    const project = projects[number % projects.length]!;
    const scope = { idempotencyKey: key, credential, project, name: `n${number}`, texts: new Set<string>() };
    scopes.push(scope);
    return scope;
  };

  /** The status and code, or null where no answer came. */
  const send = async (scope: Scope, name = scope.name): Promise<string | null> => {
    const headers = { 'idempotency-key': scope.idempotencyKey };
    const path = paths.projectKeys(scope.project);
    const answer = await call(server, 'POST', path, { key: scope.credential, headers, body: { name } }).catch(
      () => null,
    );
    if (answer === null) return null;
    if (answer.status === 201 && name === scope.name) scope.texts.add(answer.text);
    return `${answer.status} ${answer.status < 300 ? '' : errorOf(answer.body).code}`.trim();
  };

  const step = async (): Promise<boolean> => {
    const dice = random();
    const known = dice < 0.3 ? scopes[below(scopes.length)] : undefined;
    if (known === undefined) {
      const outcome = await send(newScope());
      if (outcome !== null && !outcome.startsWith('503') && outcome !== '201') faults.push(`a new key got ${outcome}`);
      return outcome !== null;
    }
    repeats += 1;
    if (dice < 0.03 && known.texts.size > 0) {
      const outcome = await send(known, 'another body');
      if (outcome !== null && outcome !== '409 idempotency_key_reused') faults.push(`another body got ${outcome}`);
      return outcome !== null;
    }
    if (dice < 0.06 && known.credential === credentials[0]) {
      const theirs = scopes.find(
        (one) => one.idempotencyKey === known.idempotencyKey && one.credential === credentials[1],
      );
      return (await send(theirs ?? newScope(known.idempotencyKey, credentials[1]))) !== null;
    }
    const outcome = await send(known);
    if (outcome === null) return false;
    if (!['201', '409 idempotency_in_progress', '503 dependency_unavailable'].includes(outcome)) {
      faults.push(`${known.name} again got ${outcome}`);
    }
    return true;
  };

  const write = async (until: number): Promise<void> => {
    await Promise.all(
      Array.from({ length: writers }, async () => {
        while (requests < until) {
          requests += 1;
          if (!(await step())) return;
        }
      }),
    );
  };

  for (let i = 1; i <= options.kills; i++) {
    const until = Math.floor((options.requests * i) / (options.kills + 1));
    const writing = write(Number.MAX_SAFE_INTEGER);
    while (requests < until) await new Promise((resolve) => setTimeout(resolve, 1 + below(5)));
    await server.kill();
    await writing;
    kills += 1;
    server = await startServer({ dataDir: server.dataDir });
  }
  await write(options.requests);

  if (options.isThorough) {
    await new Promise((resolve) => setTimeout(resolve, abandonedMs));
    for (const scope of scopes) {
      const outcome = await send(scope);
      if (outcome !== '201') faults.push(`${scope.name} in the end got ${outcome}`);
    }
  }
  faults.push(...(await faultsOf(server, scopes, projects)));
  return { server, faults, requests, repeats, kills, scopes };
};

/** What the lists say against what was answered. */
const faultsOf = async (server: Server, scopes: readonly Scope[], projects: readonly string[]): Promise<string[]> => {
  const faults: string[] = [];
  const listed = new Map<string, Json[]>();
  for (const project of projects) {
    for (const key of await itemsOf(server, paths.projectKeys(project))) {
      const name = String(key.name);
      listed.set(name, [...(listed.get(name) ?? []), key]);
    }
  }
  if (listed.has('another body')) faults.push('a refused body has made a key');
  for (const { name, texts } of scopes) {
    const found = listed.get(name) ?? [];
    if (found.length > 1) faults.push(`${name} is there ${found.length} times`);
    if (texts.size > 1) faults.push(`${name} was answered in ${texts.size} ways`);
    const [text] = texts;
    if (text === undefined) continue;
    const { id, value } = JSON.parse(text) as { id: string; value: string };
    if (found[0]?.id !== id) faults.push(`${name} was answered and is not there`);
    // Some of them, since each costs a request.
    if (scopes.length < 500 && (await use(server, value)) !== '200') faults.push(`the key of ${name} does not work`);
  }
  return faults;
};
