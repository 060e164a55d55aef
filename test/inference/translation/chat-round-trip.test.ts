// Lane: middle: it runs at length
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { chatRoute } from '../../../src/data/api/chat/chat.ts';
import { chatForm } from '../../../src/data/api/chat/chat-answer.ts';
import { ChatChunkReader } from '../../../src/data/upstream/openai/chat-chunks.ts';
import { readCompletion } from '../../../src/data/upstream/openai/chat-completion.ts';
import { chatRequest } from '../../../src/data/upstream/openai/chat-request.ts';
import { inexpressible } from '../../../src/data/upstream/openai/inexpressible.ts';
import type { Chunk } from '../../../src/data/upstream/port.ts';
import { chunksOf } from '../../../src/data/upstream/simulated/chunks.ts';
import { ToolNames } from '../../../src/data/upstream/tool-names.ts';
import { jsonText } from '../../../src/json/exact-number.ts';
import { assemble } from '../../upstream/requests.ts';
import { send } from '../call.ts';
import { hosted, model } from '../hosted.ts';
import { ScriptedUpstream } from '../scripted-upstream.ts';
import { answersOf, plain, requestsOf } from './kept.ts';

/**
 * What the table of translations calls kept survives the way there and back: messages become chat completions on their way to
 * an upstream, and that upstream, another gateway, makes messages of them again.
 */

const kept = requestsOf({ api: 'chat' });
const answers = answersOf({ api: 'chat' });
const dialects = fc.constantFrom('max_tokens' as const, 'max_completion_tokens' as const);

test('a request', async () => {
  await fc.assert(
    fc.asyncProperty(kept, dialects, fc.boolean(), async (request, maxTokensName, streamed) => {
      expect(inexpressible(request)).toBeNull();
      const upstream = new ScriptedUpstream();
      const far = chatRoute({ models: hosted(upstream, model()), clock: systemClock, answerId: () => 'chatcmpl-1' });
      const sent = JSON.parse(
        jsonText(chatRequest(request, streamed, { maxTokensName, thinks: true }, new ToolNames(request.tools))),
      );
      expect((await send(far, { ...sent, stream: false, stream_options: undefined })).body).not.toHaveProperty('error');
      expect(plain({ ...upstream.requests[0], model: 'm' })).toEqual(plain(request));
    }),
    { numRuns: 80 },
  );
});

describe('an answer', () => {
  const form = () => chatForm({ id: 'chatcmpl-1', model: 'm', created: 1, includeUsage: true });
  const most = 1_000_000;

  test('in one piece', () => {
    fc.assert(
      fc.property(answers, (answer) => {
        const back = readCompletion(jsonText(form().whole(answer)), most, String);
        expect(plain(back)).toEqual(plain(answer));
      }),
    );
  });

  test('as a stream', async () => {
    await fc.assert(
      fc.asyncProperty(answers, fc.integer({ min: 1, max: 5 }), async (answer, tokens) => {
        const toEvents = form().events(1, () => undefined);
        const bytes = Buffer.from([...chunksOf(answer, tokens)].map(toEvents).join(''));
        const reader = new ChatChunkReader(most, String);
        const back = await assemble(
          (async function* (): AsyncGenerator<Chunk> {
            yield* reader.readAll(bytes).pieces;
          })(),
        );
        expect(plain(back)).toEqual(plain(answer));
        expect(reader.ended).toBe(true);
      }),
    );
  });
});
