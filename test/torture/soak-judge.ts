import type { EventStoreDBClient, Position } from '@eventstore/db-client';
import { complain, type Figures } from './figures.ts';
import type { Ledger } from './soak-clients.ts';
import type { Site } from './soak-site.ts';

const projectsPath = '/v1/organization/projects';

/** Every list of the administration at one gateway, by its path. */
export const listsOf = async (site: Site): Promise<Map<string, readonly string[]>> => {
  const lists = new Map<string, readonly string[]>();
  const paths = [`${projectsPath}?include_archived=true`, '/v1/organization/admin_api_keys'];
  for (const path of paths) lists.set(path, await site.list(path));
  for (const text of lists.get(paths[0]!)!) {
    const path = `${projectsPath}/${(JSON.parse(text) as { id: string }).id}/api_keys`;
    lists.set(path, await site.list(path));
  }
  return lists;
};

/** Which lists are others at one gateway than at the other. */
export const differences = (
  one: ReadonlyMap<string, readonly string[]>,
  other: ReadonlyMap<string, readonly string[]>,
): string[] =>
  [...new Set([...one.keys(), ...other.keys()])].filter(
    (path) => one.get(path)?.join('\n') !== other.get(path)?.join('\n'),
  );

const byName = (texts: Iterable<string>): Map<string, Record<string, unknown>[]> => {
  const found = new Map<string, Record<string, unknown>[]>();
  for (const text of texts) {
    const item = JSON.parse(text) as Record<string, unknown>;
    const name = String(item.name);
    found.set(name, [...(found.get(name) ?? []), item]);
  }
  return found;
};

/** Everything that was acknowledged is listed, once and as it was acknowledged. */
export const judgeLists = (
  site: Site,
  lists: ReadonlyMap<string, readonly string[]>,
  ledger: Ledger,
  figures: Figures,
): void => {
  const say = (what: string) => complain(figures, `${site.name} lists ${what}`);
  const keys = byName([...lists].filter(([path]) => path.endsWith('/api_keys')).flatMap(([, texts]) => texts));
  for (const { name, id, ended } of ledger.keys.values()) {
    const found = keys.get(name) ?? [];
    if (found.length === 0) figures.lost++;
    if (found.length > 1) figures.doubled++;
    const wanted = ended ? 'revoked' : 'active';
    if (found.length !== 1 || found[0]!.id !== id || found[0]!.status !== wanted)
      say(`${name} as ${JSON.stringify(found.map((key) => [key.id, key.status]))}, which is ${id} and ${wanted}`);
  }
  const projects = byName(lists.get(`${projectsPath}?include_archived=true`) ?? []);
  for (const [id, name] of ledger.projects) {
    const found = projects.get(name) ?? [];
    if (found.length === 0) figures.lost++;
    if (found.length > 1) figures.doubled++;
    if (found.length !== 1 || found[0]!.id !== id) say(`${name} ${found.length} times or as another than ${id}`);
  }
};

/** The end of a log in which there may be more than what this run will write. */
export const endOf = async (client: EventStoreDBClient): Promise<Position | 'start'> => {
  const last = client.readAll({ fromPosition: 'end', direction: 'backwards', maxCount: 1 });
  let end: Position | 'start' = 'start';
  // To its own end: a stream of the client that is left early waits for ever.
  for await (const { event } of last) if (event?.position) end = event.position;
  return end;
};

/**
 * What was acknowledged is in the log, once; nothing that one request has said of one thing is there twice; and the events
 * of each stream follow each other without a gap.
 */
export const judgeLog = async (
  client: EventStoreDBClient,
  fromPosition: Position | 'start',
  ledger: Ledger,
  figures: Figures,
): Promise<void> => {
  const times = new Map<string, number>();
  const last = new Map<string, bigint>();
  const said = new Set<string>();
  for await (const { event } of client.readAll({ fromPosition })) {
    if (!event || event.streamId.startsWith('$')) continue;
    const { streamId, revision, type, data, metadata } = event;
    const before = last.get(streamId);
    if (before !== undefined && revision !== before + 1n) {
      figures.gaps++;
      complain(figures, `${streamId}@${revision} comes behind ${before}`);
    }
    last.set(streamId, revision);
    const content = JSON.stringify([
      streamId,
      type,
      data,
      (metadata as Record<string, unknown> | null)?.$correlationId,
    ]);
    if (said.has(content)) {
      figures.doubled++;
      complain(figures, `${streamId}@${revision} is ${type} once more, of the same request`);
    }
    said.add(content);
    const { name } = data as { readonly name?: string };
    const what = type === 'project_key.revoked' ? `${type} ${streamId}` : `${type.split('.')[0]} ${name}`;
    times.set(what, (times.get(what) ?? 0) + 1);
  }
  const expectOnce = (what: string): void => {
    const found = times.get(what) ?? 0;
    if (found === 1) return;
    if (found === 0) figures.lost++;
    else figures.doubled++;
    complain(figures, `the log has ${what} ${found} times`);
  };
  for (const { name, id, ended } of ledger.keys.values()) {
    expectOnce(`project_key ${name}`);
    if (ended) expectOnce(`project_key.revoked projectKey-${id}`);
  }
  for (const { name } of ledger.names) expectOnce(`project ${name}`);
};
