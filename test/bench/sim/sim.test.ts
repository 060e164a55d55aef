import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterEach, describe, expect, test } from 'vitest';
import { type Behaviour, fatesOf, plainBehaviour } from '../../../bench/sim/behaviour.ts';
import type { Entry } from '../../../bench/sim/ledger.ts';
import { type Sim, startSim } from '../../../bench/sim/server.ts';

let sim: Sim | undefined;
afterEach(() => sim?.close());

const start = async (change: Partial<Behaviour> = {}) => {
  const entries: Entry[] = [];
  sim = await startSim({
    host: '127.0.0.1',
    port: 0,
    behaviour: { ...plainBehaviour, ...change },
    write: (entry) => entries.push(entry),
  });
  const baseURL = `http://127.0.0.1:${sim.port}`;
  return { entries, totals: sim.totals, baseURL, client: new Anthropic({ baseURL, apiKey: 'none', maxRetries: 0 }) };
};
const message = { model: 'm', max_tokens: 8, messages: [{ role: 'user' as const, content: 'Hello' }] };

describe('the simulated model', () => {
  test('answers the official client, streamed and not, and writes down what it served', async () => {
    const { client, entries, totals } = await start({ tokens: 5 });
    const whole = await client.messages.create(message);
    expect(whole).toMatchObject({ type: 'message', stop_reason: 'end_turn', usage: { output_tokens: 5 } });
    const streamed = await client.messages.stream(message).finalMessage();
    expect(streamed.content).toEqual(whole.content);
    expect(streamed.usage.output_tokens).toBe(5);
    expect(totals()).toMatchObject({ requests: 2, answered: 2, outputTokens: 10, inFlight: 0 });
    expect(entries.map(({ stream, ending, outputTokens }) => ({ stream, ending, outputTokens }))).toEqual([
      { stream: false, ending: 'answered', outputTokens: 5 },
      { stream: true, ending: 'answered', outputTokens: 5 },
    ]);
  });

  test('answers OpenAI’s client in the words of chat completions and of responses', async () => {
    const { baseURL, totals } = await start({ tokens: 5 });
    const client = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey: 'none', maxRetries: 0 });
    const asked = { model: 'm', max_completion_tokens: 8, messages: message.messages };
    const whole = await client.chat.completions.create(asked);
    const options = { stream_options: { include_usage: true } };
    const streamed = await client.chat.completions.stream({ ...asked, ...options }).finalChatCompletion();
    for (const { choices, usage } of [whole, streamed]) {
      expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'the weir holds the river ' } });
      expect(usage).toMatchObject({ completion_tokens: 5 });
    }
    const input = { model: 'm', max_output_tokens: 8, input: 'Hello' };
    const response = await client.responses.create(input);
    const events = [];
    for await (const event of await client.responses.create({ ...input, stream: true })) events.push(event);
    expect(response).toMatchObject({ output_text: 'the weir holds the river ', usage: { output_tokens: 5 } });
    expect(events.at(-1)).toMatchObject({
      type: 'response.completed',
      response: { output: response.output.map(({ id: _, ...item }) => item) },
    });
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
    expect(totals()).toMatchObject({ requests: 4, answered: 4, outputTokens: 20, inFlight: 0 });
  });

  test('answers no more tokens than are asked for', async () => {
    const { client } = await start({ tokens: 500 });
    expect((await client.messages.create(message)).usage.output_tokens).toBe(8);
  });

  test('waits for the first token and between tokens', async () => {
    const { client } = await start({ ttftMs: 60, itlMs: 20, tokens: 4 });
    const began = performance.now();
    const at: number[] = [];
    for await (const event of client.messages.stream(message))
      if (event.type === 'content_block_delta') at.push(performance.now() - began);
    expect(at).toHaveLength(4);
    expect(at[0]).toBeGreaterThan(55);
    expect(at[3]).toBeGreaterThan(115);
  });

  test('fails, cuts and is left, and the ledger tells them apart', async () => {
    const failing = await start({ errors: 1 });
    await expect(failing.client.messages.create(message)).rejects.toMatchObject({ status: 529 });
    expect(failing.totals()).toMatchObject({ errors: 1, answered: 0 });
    sim?.close();
    const cutting = await start({ aborts: 1, tokens: 8 });
    await expect(cutting.client.messages.stream(message).finalMessage()).rejects.toThrow();
    await expect(cutting.client.messages.create(message)).rejects.toThrow();
    expect(cutting.totals()).toMatchObject({ aborts: 2, outputTokens: 4, inFlight: 0 });
    sim?.close();
    const left = await start({ ttftMs: 5_000 });
    const leaving = new AbortController();
    const asked = left.client.messages.create(message, { signal: leaving.signal });
    asked.catch(() => {});
    while (left.totals().inFlight === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    leaving.abort();
    await expect(asked).rejects.toThrow();
    while (left.totals().inFlight > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(left.totals()).toMatchObject({ abandoned: 1, mostInFlight: 1 });
  });

  test('tells its totals to whoever asks, and refuses the rest', async () => {
    const { baseURL } = await start();
    expect(await (await fetch(`${baseURL}/ledger`)).json()).toMatchObject({ requests: 0 });
    expect((await fetch(`${baseURL}/v1/other`)).status).toBe(404);
    expect((await fetch(`${baseURL}/v1/messages`, { method: 'POST', body: '{' })).status).toBe(400);
  });

  test('does not share a port', async () => {
    await start();
    await expect(startSim({ host: '127.0.0.1', port: sim!.port, behaviour: plainBehaviour })).rejects.toThrow(
      /is the port taken/,
    );
  });
});

describe('fates', () => {
  const fates = (behaviour: Behaviour, count: number) => {
    const next = fatesOf(behaviour);
    return Array.from({ length: count }, () => next(1000));
  };

  test('are the same for the same seed', () => {
    const behaviour = {
      ...plainBehaviour,
      ttftMs: 200,
      ttftSigma: 0.5,
      itlMs: 20,
      itlSigma: 0.5,
      tokensSigma: 0.5,
      errors: 0.1,
      aborts: 0.1,
    };
    expect(fates(behaviour, 50)).toEqual(fates(behaviour, 50));
    expect(fates({ ...behaviour, seed: 2 }, 50)).not.toEqual(fates(behaviour, 50));
  });

  test('have the shares and the median that were asked for', () => {
    const all = fates({ ...plainBehaviour, ttftMs: 200, ttftSigma: 0.5, errors: 0.2, aborts: 0.1 }, 4000);
    const share = (is: string) => all.filter((fate) => fate.is === is).length / all.length;
    expect(share('error')).toBeCloseTo(0.2, 1);
    expect(share('abort')).toBeCloseTo(0.1, 1);
    expect(all.filter(({ tokenAt }) => tokenAt[0]! < 200).length / all.length).toBeCloseTo(0.5, 1);
  });
});
