// Lane: daily: it installs generators, and compiles what they make
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Server, startServer } from '../server.ts';
import { csharpTypes, heyApi, java, openapiTypescript, type Round } from './generated.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 60_000 });

let server: Server;
let round: Round;
beforeAll(async () => {
  server = await startServer({});
  const { baseUrl, first } = server;
  const document = (await (await fetch(`${baseUrl}/v1/openapi.json`)).json()) as object;
  round = { document, baseUrl, adminKey: first.admin_api_key, projectKey: first.project_api_key };
});
afterAll(() => server?.stop());

const administered = { listed: [true], permissions: 3, updated: 'Renamed', archived: true };
const answered = [true, 'weir-sim-1', 'weir-sim-1', 'weir-sim-1'];

test.for([
  ['openapi-typescript', openapiTypescript, { ...administered, answered }],
  ['hey-api', heyApi, { ...administered, answered }],
  ['openapi-generator for Java', java, administered],
] as const)('a client made by %s compiles and administers', async ([name, play, expected], { skip }) => {
  const outcome = await play(round);
  if ('missing' in outcome) return skip(`${name} cannot be had here: ${outcome.missing}`);
  expect(outcome.told).toEqual(expected);
});

test('no class of C# made by openapi-generator is called as what the language has', async ({ skip }) => {
  const made = await csharpTypes(round.document);
  if ('missing' in made) return skip(`openapi-generator cannot be had here: ${made.missing}`);
  expect(made.names).toContain('Project');
  const taken = ['System', 'Object', 'String', 'Exception', 'Type', 'Action', 'Task', 'Enum', 'Attribute', 'Delegate'];
  expect(made.names.filter((name) => taken.includes(name))).toEqual([]);
});
