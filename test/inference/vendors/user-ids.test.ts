import { afterAll, beforeAll, expect, test } from 'vitest';
import { metadata } from '../../e2e/clients/claude-code.ts';
import { type Api, type Fields, vendors } from './stage.ts';

/** Servers of OpenAI's APIs take ids of users of 64 characters, servers of messages of 256 (contract G.1). */

const tooLong = ({ user }: Fields): string | null => (user?.length > 64 ? "Invalid 'user': string too long." : null);
let at: Awaited<ReturnType<typeof vendors>>;
beforeAll(async () => {
  at = await vendors({ chat: tooLong, responses: tooLong });
});
afterAll(() => at.close());

const asks: Readonly<Record<Api, readonly ((id: string) => Fields)[]>> = {
  messages: [(user_id) => ({ metadata: { user_id } })],
  chat: [(user) => ({ user }), (safety_identifier) => ({ safety_identifier })],
  responses: [(user) => ({ user }), (safety_identifier) => ({ safety_identifier })],
};
const each = Object.entries(asks).flatMap(([api, all]) => all.map((body) => [api as Api, body] as const));
const told = async (api: Api, body: Fields) =>
  Promise.all([
    (await at.ask(api, 'chat', body)).sent?.user,
    (await at.ask(api, 'responses', body)).sent?.user,
    (await at.ask(api, 'messages', body)).sent?.metadata?.user_id,
  ]);

const ofClaudeCode = metadata.user_id;

test.each(each)('%s: a long id becomes one digest, everywhere', async (api, body) => {
  expect(ofClaudeCode).toHaveLength(150);
  const [chat, responses, messages] = await told(api, body(ofClaudeCode));
  expect(chat).toMatch(/^user_sha_[\w-]{43}$/);
  expect([responses, messages]).toEqual([chat, ofClaudeCode]);
  const [other] = await told(api, body(ofClaudeCode.replace('a1', 'a2')));
  expect(other).not.toBe(chat);
  expect((await told('chat', { user: ofClaudeCode }))[0]).toBe(chat);
});

test.each(each)('%s: an id of 64 characters stays', async (api, body) => {
  const id = 'é'.repeat(64);
  expect(await told(api, body(id))).toEqual([id, id, id]);
});
