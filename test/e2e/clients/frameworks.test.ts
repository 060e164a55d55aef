import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ModelKind } from './agents.ts';
import { environments, type Framework, frameworkPlays } from './frameworks.ts';
import { stageOfKinds } from './kinds.ts';
import { type Played, play } from './play.ts';

/** Frameworks for agents against a running gateway, by each API that they speak, with a model whose provider speaks each. */

vi.setConfig({ hookTimeout: 600_000 });

const kinds: readonly ModelKind[] = ['messages', 'chat', 'responses'];
const modesOf = (those: readonly Framework[]) =>
  those.flatMap((framework) =>
    framework.apis.flatMap((api) =>
      kinds.map((kind) => ({ framework, api, kind, mode: `${framework.name}/${api}/${kind}` })),
    ),
  );

let stage: Awaited<ReturnType<typeof stageOfKinds>>;
const played: (Played | { readonly missing: string })[] = [];
beforeAll(async () => {
  stage = await stageOfKinds();
  const { baseUrl, first } = stage.server;
  const each = environments.map(({ frameworks, client }) => {
    const models = Object.fromEntries(modesOf(frameworks).map(({ mode }) => [mode, mode]));
    return play(client, { baseUrl, key: first.project_api_key, models });
  });
  played.push(...(await Promise.all(each)));
});
afterAll(() => stage?.close());

const text = 'Hello from the provider.';
const called = [{ city: 'Lisbon' }];
const positive = expect.toSatisfy((count) => count > 0);
const ofAgents = {
  text: { text },
  stream: { text, pieces: positive },
  tools: { called, text: 'The tool said: Sunny in Lisbon' },
  structured: { name: 'Ada', age: 36 },
};
/** It has no loop that runs tools: what a tool is called with is its answer, which it streams too. */
const ofInstructor = { ...ofAgents, stream: { text: 'Lisbon', pieces: positive }, tools: { called } };
const resultsOf = ({ name }: Framework) => (name === 'instructor' ? ofInstructor : ofAgents);

describe.each(environments.flatMap(({ frameworks }, at) => modesOf(frameworks).map((mode) => ({ ...mode, at }))))(
  '$framework.name by $api, with a model whose provider speaks $kind',
  ({ framework, api, mode, at }) => {
    test.for(frameworkPlays.filter((scenario) => framework.lacks?.[api] !== scenario))('%s', (scenario, { skip }) => {
      const those = played[at]!;
      if ('missing' in those) return skip(`${framework.name} cannot be had here: ${those.missing}`);
      expect(those.of(mode, scenario)).toEqual({ mode, scenario, result: resultsOf(framework)[scenario] });
    });
  },
);

test('the gateway has failed at none of it, and each provider was asked', () => {
  expect(stage.server.log().filter(({ level }) => level >= 50)).toEqual([]);
  if (played.some((those) => 'missing' in those)) return;
  expect(new Set(stage.received().map(({ body }) => body.model))).toEqual(new Set(kinds));
});
