// The OpenAI Agents SDK against models: agents.mjs BASE_URL KEY MODELS API
import {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  Runner,
  setTracingDisabled,
  tool,
} from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { everyMode, pdf, png, toldBy } from './scenarios.mjs';

setTracingDisabled(true);
const [baseUrl, key, , api] = process.argv.slice(2);
const Model = api === 'chat' ? OpenAIChatCompletionsModel : OpenAIResponsesModel;

await everyMode((name) => {
  const modelOf = ({ model = name, apiKey = key, maxRetries = 0 } = {}) =>
    new Model(new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, maxRetries }), model);
  const agent = (options = {}) => {
    const { modelSettings, model = modelOf(), ...more } = options;
    return new Agent({ name: 'helper', model, modelSettings: { maxTokens: 3000, ...modelSettings }, ...more });
  };
  const runner = new Runner({ tracingDisabled: true });
  const weather = () => {
    const called = [];
    const made = tool({
      name: 'weather',
      description: 'The weather of a city',
      parameters: z.object({ city: z.string() }),
      execute: (input) => {
        called.push(input);
        return `Sunny in ${input.city}`;
      },
    });
    return { called, tools: [made] };
  };
  const drained = async (result) => {
    const pieces = [];
    for await (const piece of result.toTextStream()) pieces.push(piece);
    await result.completed;
    return pieces;
  };
  const scenarios = {
    text: async () => {
      const { finalOutput, rawResponses } = await runner.run(agent(), 'Hello there');
      const [{ usage }] = rawResponses;
      return { text: finalOutput, input: usage.inputTokens, output: usage.outputTokens };
    },
    stream: async () => {
      const pieces = await drained(await runner.run(agent(), 'Hello there', { stream: true }));
      return { text: pieces.join(''), pieces: pieces.length };
    },
    tools: async () => {
      const { called, tools } = weather();
      const { finalOutput } = await runner.run(agent({ tools }), 'Call weather');
      return { called, text: finalOutput };
    },
    streamed_tools: async () => {
      const { called, tools } = weather();
      const result = await runner.run(agent({ tools }), 'Call weather', { stream: true });
      await drained(result);
      return { called, text: result.finalOutput };
    },
    thinking: async () => {
      // A provider keeps nothing: what was thought has to come along.
      const providerData = { include: ['reasoning.encrypted_content'] };
      const reasoning = { effort: 'high', summary: 'auto' };
      const thinker = agent({ modelSettings: { reasoning, providerData } });
      const first = await runner.run(thinker, 'Hello there');
      const next = await runner.run(thinker, [...first.history, { role: 'user', content: 'Go on' }]);
      const thought = first.output.find(({ type }) => type === 'reasoning');
      const thinking = thought.content.map(({ text }) => text).join('');
      return { thinking, text: first.finalOutput, next: next.finalOutput };
    },
    structured: async () => {
      const outputType = z.object({ name: z.string(), age: z.number().int() });
      return (await runner.run(agent({ outputType }), 'Who?')).finalOutput;
    },
    media: async () => {
      const content = [
        { type: 'input_text', text: 'Look' },
        { type: 'input_image', image: `data:image/png;base64,${png}` },
        { type: 'input_file', file: `data:application/pdf;base64,${pdf}`, filename: 'a.pdf' },
      ];
      return { text: (await runner.run(agent(), [{ role: 'user', content }])).finalOutput };
    },
    cancel: async () => {
      const leaving = new AbortController();
      const slow = agent({ modelSettings: { maxTokens: 60_000 } });
      try {
        const result = await runner.run(slow, 'Slow', { stream: true, signal: leaving.signal });
        for await (const _ of result.toTextStream()) leaving.abort();
      } catch (error) {
        if (!leaving.signal.aborted) throw error;
      }
      return { cancelled: leaving.signal.aborted };
    },
    retry: async () => {
      const patient = agent({ model: modelOf({ maxRetries: 4 }) });
      return { text: (await runner.run(patient, `Overloaded for agents ${api} ${name}`)).finalOutput };
    },
    refusals: async () => ({
      key: await toldBy(runner.run(agent({ model: modelOf({ apiKey: 'wrong' }) }), 'Hello'), 'status'),
      model: await toldBy(runner.run(agent({ model: modelOf({ model: 'none' }) }), 'Hello'), 'status'),
      invalid: await toldBy(runner.run(agent(), 'Invalid'), 'message'),
    }),
  };
  if (api === 'chat') delete scenarios.thinking;
  return scenarios;
});
