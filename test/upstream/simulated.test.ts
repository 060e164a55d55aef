import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import type { Answer, Chunk, GenerateRequest } from '../../src/data/upstream/port.ts';
import { simulatedUpstream } from '../../src/data/upstream/simulated/simulated.ts';
import type { Sleep } from '../../src/data/upstream/sleep.ts';
import { countTokens, tokenGroups, tokenize } from '../../src/data/upstream/tokens.ts';
import { anyConversation, anyText, assemble, options, request, user } from './requests.ts';

const declare = (upstream: object = {}) => {
  const entry = {
    id: 'sim',
    context_length: 1000,
    max_output_length: 1000,
    upstream: { kind: 'simulated', ...upstream },
  };
  const declared = loadModels(JSON.stringify({ models: [entry] }), {})[0]!.upstreams[0]!.upstream;
  if (declared.kind !== 'simulated') throw new Error('not simulated');
  return declared;
};
const sim = (upstream: object = {}) => simulatedUpstream(declare(upstream), { clock: systemClock });
const answer = (over: Partial<GenerateRequest> = {}, upstream: object = {}) =>
  sim(upstream).answer(request(over), options());

const textOf = ({ content }: Answer): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');

const producedTokens = ({ content }: Answer): number =>
  content.reduce((sum, block) => {
    if (block.type === 'text') return sum + countTokens(block.text);
    if (block.type === 'thinking') return sum + countTokens(block.thinking);
    return block.type === 'tool_use' ? sum + countTokens(JSON.stringify(block.input)) : sum;
  }, 0);

const weather = {
  name: 'get_weather',
  input_schema: {
    type: 'object',
    properties: { city: { type: 'string', minLength: 3 }, days: { type: 'integer', minimum: 1, maximum: 5 } },
    required: ['city', 'days'],
    additionalProperties: false,
  },
};
const clockTool = { name: 'get_time', input_schema: { type: 'object', properties: {} } };

describe('tokens', () => {
  test('cover the text, and a prefix of them is tokenized into the same tokens', () => {
    fc.assert(
      fc.property(anyText, fc.nat(50), fc.integer({ min: 1, max: 7 }), (text, most, size) => {
        const tokens = tokenize(text);
        expect(tokens.join('')).toBe(text);
        expect(countTokens(text)).toBe(tokens.length);
        expect(tokenize(tokens.slice(0, most).join(''))).toEqual(tokens.slice(0, most));
        expect(tokenGroups(text, size).join('')).toBe(text);
        expect(tokenGroups(text, size).length).toBe(Math.ceil(tokens.length / size));
      }),
    );
  });
  test('are counted alike whatever UTF-16 unit is among them', () => {
    for (let unit = 0; unit <= 0xffff; unit++) {
      const text = `a${String.fromCharCode(unit)}bcde😀f`;
      if (countTokens(text) !== tokenize(text).length) expect.fail(unit.toString(16));
    }
  });
});

describe('answer', () => {
  test('is the same for the same request, and another for another conversation', async () => {
    expect(await answer()).toEqual(await answer());
    expect(textOf(await answer({ messages: [user('Tell me of gates')] }))).not.toBe(textOf(await answer()));
  });

  test('speaks of what the user said last', async () => {
    const messages = [
      user('first'),
      { role: 'assistant' as const, content: 'yes' },
      user([{ type: 'text', text: 'the sluice' }]),
    ];
    expect(textOf(await answer({ messages }))).toContain('"the sluice"');
  });

  test('has the declared length where no variation is asked for', async () => {
    for (const output_tokens of [1, 5, 64, 5000]) {
      const given = await answer({ max_tokens: 9000 }, { output_tokens, output_tokens_variation: 0 });
      expect(given.usage.output_tokens).toBe(output_tokens);
      expect(given.stop_reason).toBe('end_turn');
    }
  });

  test('counts exactly the tokens that it produced, and never more than max_tokens', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyConversation,
        fc.integer({ min: 1, max: 150 }),
        fc.boolean(),
        async (messages, max_tokens, thinks) => {
          const thinking = { type: thinks ? ('adaptive' as const) : ('disabled' as const) };
          const given = await answer({ messages, max_tokens, thinking });
          expect(given.usage.output_tokens).toBe(producedTokens(given));
          expect(given.usage.output_tokens).toBeLessThanOrEqual(max_tokens);
          if (given.stop_reason === 'max_tokens') expect(given.usage.output_tokens).toBe(max_tokens);
        },
      ),
    );
  });

  test('max_tokens binds one token below the natural length, and not at it or above', async () => {
    await fc.assert(
      fc.asyncProperty(anyConversation, async (messages) => {
        const whole = await answer({ messages, max_tokens: 100_000 });
        const n = whole.usage.output_tokens;
        fc.pre(n > 1);
        const less = await answer({ messages, max_tokens: n - 1 });
        expect([less.stop_reason, less.usage.output_tokens]).toEqual(['max_tokens', n - 1]);
        for (const max_tokens of [n, n + 1]) {
          const given = await answer({ messages, max_tokens });
          expect([given.stop_reason, given.usage.output_tokens]).toEqual(['end_turn', n]);
          expect(given.content).toEqual(whole.content);
        }
      }),
    );
  });

  test('a stop sequence never shows, and the text is cut right before its first match', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyConversation,
        fc.array(fc.tuple(fc.nat(400), fc.integer({ min: 1, max: 9 })), { minLength: 1, maxLength: 3 }),
        async (messages, cuts) => {
          const whole = textOf(await answer({ messages }));
          const stop_sequences = cuts.map(([at, length]) => whole.slice(at % whole.length).slice(0, length));
          const given = await answer({ messages, stop_sequences });
          const text = textOf(given);
          expect(given.stop_reason).toBe('stop_sequence');
          expect(stop_sequences).toContain(given.stop_sequence);
          for (const sequence of stop_sequences) expect(text.includes(sequence)).toBe(false);
          expect(whole.startsWith(text + given.stop_sequence)).toBe(true);
          expect(given.usage.output_tokens).toBe(producedTokens(given));
          expect(given.content.every((block) => block.type !== 'text' || block.text !== '')).toBe(true);
        },
      ),
    );
  });

  test('a stop sequence that is never said changes nothing', async () => {
    expect(await answer({ stop_sequences: ['\u0000never'] })).toEqual(await answer());
  });

  test('thinks first where it is asked to and has room', async () => {
    const given = await answer({ thinking: { type: 'enabled', budget_tokens: 10 } });
    expect(given.content.map(({ type }) => type)).toEqual(['thinking', 'text']);
    const [block] = given.content;
    if (block?.type !== 'thinking') throw new Error('no thinking');
    expect(countTokens(block.thinking)).toBe(10);
    expect(block.signature).toMatch(/^[0-9a-z]{64}$/);
    expect((await answer({ max_tokens: 10, thinking: { type: 'enabled', budget_tokens: 10 } })).content[0]?.type).toBe(
      'text',
    );
    expect((await answer({ thinking: { type: 'adaptive' } }, { thinking_tokens: 0 })).content).toHaveLength(1);
    expect((await answer({ thinking: { type: 'between_tools' } })).content).toHaveLength(1);
  });

  test('continues a prefill without repeating it', async () => {
    const messages = [user('Say it'), { role: 'assistant' as const, content: 'It is' }];
    const given = await answer({ messages, thinking: { type: 'adaptive' } });
    expect(given.content).toHaveLength(1);
    expect(textOf(given)).toMatch(/^ [a-z]/);
  });

  test('calls the tool that the choice demands, with valid input', async () => {
    const given = await answer({ tools: [clockTool, weather], tool_choice: { type: 'tool', name: 'get_weather' } });
    expect(given.stop_reason).toBe('tool_use');
    expect(given.content).toEqual([
      {
        type: 'tool_use',
        id: expect.stringMatching(/^toolu_[0-9a-hjkmnp-tv-z]{26}$/),
        name: 'get_weather',
        input: { city: expect.any(String), days: expect.any(Number) },
      },
    ]);
    expect((await answer({ tools: [weather], tool_choice: { type: 'any' } })).stop_reason).toBe('tool_use');
  });

  test('under auto it calls what the user names, in parallel unless that is off', async () => {
    const messages = [user('Use get_weather and get_time, please')];
    const both = await answer({ messages, tools: [clockTool, weather] });
    expect(both.content.map((block) => block.type === 'tool_use' && block.name)).toEqual(['get_time', 'get_weather']);
    expect(new Set(both.content.map((block) => block.type === 'tool_use' && block.id)).size).toBe(2);
    for (const type of ['auto', 'any'] as const) {
      const one = await answer({
        messages,
        tools: [clockTool, weather],
        tool_choice: { type, disable_parallel_tool_use: true },
      });
      expect(one.content).toHaveLength(1);
    }
    expect((await answer({ messages, tools: [weather], tool_choice: { type: 'none' } })).stop_reason).toBe('end_turn');
    expect((await answer({ messages: [user('forget_weather, get_weather2')], tools: [weather] })).stop_reason).toBe(
      'end_turn',
    );
  });

  test('a call that does not fit into max_tokens is not made', async () => {
    const over = { tools: [weather], tool_choice: { type: 'any' as const } };
    const n = (await answer(over)).usage.output_tokens;
    expect((await answer({ ...over, max_tokens: n })).stop_reason).toBe('tool_use');
    const given = await answer({ ...over, max_tokens: n - 1 });
    expect([given.content, given.stop_reason, given.usage.output_tokens]).toEqual([[], 'max_tokens', n - 1]);
  });

  test('answers in text after a tool result', async () => {
    const messages = [
      user('Weather?'),
      { role: 'assistant' as const, content: [{ type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: {} }] },
      user([{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'rain all day' }]),
    ];
    const given = await answer({ messages, tools: [weather], tool_choice: { type: 'any' } });
    expect(given.stop_reason).toBe('end_turn');
    expect(textOf(given)).toContain('"rain all day"');
  });

  test('is JSON where a format asks for it', async () => {
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
    const given = await answer({ output_config: { format: { type: 'json_schema', schema } } });
    expect(JSON.parse(textOf(given))).toEqual({ ok: expect.any(Boolean) });
  });
});

describe('stream', () => {
  test('gives what answer gives, in whatever pieces', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyConversation,
        fc.record({
          max_tokens: fc.integer({ min: 1, max: 120 }),
          stop_sequences: fc.array(fc.constantFrom('the', ' a', 'e', 'end.'), { maxLength: 2 }),
          tools: fc.constantFrom([], [weather], [weather, clockTool]),
          tool_choice: fc.constantFrom({ type: 'auto' as const }, { type: 'any' as const }),
          thinking: fc.constantFrom({ type: 'disabled' as const }, { type: 'adaptive' as const }),
        }),
        fc.integer({ min: 1, max: 9 }),
        async (messages, over, tokens_per_delta) => {
          const made = request({ messages, ...over });
          const upstream = sim({ tokens_per_delta });
          const whole = await upstream.answer(made, options());
          expect(await assemble(upstream.stream(made, options()))).toEqual(whole);
        },
      ),
    );
  });

  test('begins with the input tokens and no output', async () => {
    for await (const chunk of sim().stream(request(), options())) {
      expect(chunk).toEqual({ type: 'start', usage: { ...(await answer()).usage, output_tokens: 0 } });
      break;
    }
  });
});

describe('time', () => {
  const timed = (upstream: object) => {
    const sleeps: number[] = [];
    let now = 0;
    const sleep: Sleep = (ms, signal) => {
      signal.throwIfAborted();
      sleeps.push(ms);
      now += ms;
      return Promise.resolve();
    };
    const clock = { wall: () => now, monotonic: () => now };
    const advance = (ms: number) => {
      now += ms;
    };
    return { sleeps, advance, now: () => now, upstream: simulatedUpstream(declare(upstream), { clock, sleep }) };
  };

  test('an answer takes the first token and the steps to the others', async () => {
    const { upstream, sleeps } = timed({
      first_token_ms: 200,
      token_ms: 20,
      output_tokens: 11,
      output_tokens_variation: 0,
    });
    await upstream.answer(request(), options());
    expect(sleeps).toEqual([400]);
  });

  test('a stream sends each token when it is due, counted from its beginning', async () => {
    const { upstream, advance, now } = timed({
      first_token_ms: 200,
      token_ms: 20,
      output_tokens: 5,
      output_tokens_variation: 0,
    });
    const at: number[] = [];
    for await (const chunk of upstream.stream(request(), options())) {
      if (chunk.type !== 'block_delta') continue;
      at.push(now());
      // A slow reader: the next token is due meanwhile and must not be put off.
      if (at.length === 2) advance(30);
    }
    expect(at).toEqual([200, 220, 250, 260, 280]);
  });

  test('without delays there is no timer at all', async () => {
    const timer = vi.spyOn(globalThis, 'setTimeout');
    await sim().answer(request(), options());
    await assemble(sim().stream(request(), options()));
    expect(timer).not.toHaveBeenCalled();
    timer.mockRestore();
  });
});

describe('abort', () => {
  const reason = new Error('client gone');

  test('ends a waiting answer at once, and its timer', async () => {
    vi.useFakeTimers();
    const controller = new AbortController();
    const waiting = sim({ first_token_ms: 60_000 }).answer(request(), options(controller.signal));
    waiting.catch(() => {});
    await Promise.resolve();
    expect(vi.getTimerCount()).toBe(1);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  test('ends a stream with the reason, while it waits and between two steps', async () => {
    for (const token_ms of [60_000, 0]) {
      const controller = new AbortController();
      const seen: Chunk[] = [];
      const reading = (async () => {
        for await (const chunk of sim({ token_ms }).stream(request(), options(controller.signal))) {
          seen.push(chunk);
          if (seen.length !== 3) continue;
          if (token_ms === 0) controller.abort(reason);
          else setTimeout(() => controller.abort(reason), 5);
        }
      })();
      await expect(reading).rejects.toBe(reason);
      expect(seen).toHaveLength(3);
    }
  });

  test('an aborted signal starts nothing', async () => {
    const gone = options(AbortSignal.abort(reason));
    await expect(sim().answer(request(), gone)).rejects.toBe(reason);
    await expect(assemble(sim().stream(request(), gone))).rejects.toBe(reason);
  });
});
