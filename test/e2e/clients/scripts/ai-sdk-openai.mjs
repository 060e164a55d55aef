// The AI SDK with its providers for these APIs against models: ai-sdk-openai.mjs BASE_URL KEY MODELS PROVIDER
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai-7';
import { everyMode, pdf, png, schema, toldBy } from './scenarios.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;
const [baseUrl, key, , provider] = process.argv.slice(2);
const baseURL = `${baseUrl}/v1`;
const modelOf = (name, apiKey = key) => {
  if (provider !== 'compatible') return createOpenAI({ baseURL, apiKey })[provider](name);
  return createOpenAICompatible({ name: 'weir', baseURL, apiKey, supportsStructuredOutputs: true })(name);
};
const twoSteps = isStepCount(2);
// Nothing is stored, and the SDK would send back the ids of items alone.
const stateless = { openai: { store: false } };
const thinkingOptions = {
  openai: { store: false, reasoningEffort: 'high', reasoningSummary: 'auto', forceReasoning: true },
};
const weather = () => {
  const called = [];
  const execute = (input) => {
    called.push(input);
    return `Sunny in ${input.city}`;
  };
  const inputSchema = jsonSchema(schema.city);
  return { called, tools: { weather: tool({ description: 'The weather of a city', inputSchema, execute }) } };
};
const user = (...content) => ({ role: 'user', content });

await everyMode((name) => {
  const model = modelOf(name);
  const common = { model, maxRetries: 0, providerOptions: stateless };
  const ask = (options) => generateText({ ...common, maxOutputTokens: 3000, ...options });
  const scenarios = {
    text: async () => {
      const { text, usage } = await ask({ prompt: 'Hello there' });
      return { text, input: usage.inputTokens, output: usage.outputTokens };
    },
    stream: async () => {
      const { textStream, text } = streamText({ ...common, prompt: 'Hello there' });
      let pieces = 0;
      for await (const _ of textStream) pieces += 1;
      return { text: await text, pieces };
    },
    tools: async () => {
      const { called, tools } = weather();
      const { text } = await ask({ prompt: 'Call weather', tools, stopWhen: twoSteps });
      return { called, text };
    },
    streamed_tools: async () => {
      const { called, tools } = weather();
      const { text } = streamText({ ...common, prompt: 'Call weather', tools, stopWhen: twoSteps });
      return { text: await text, called };
    },
    thinking: async () => {
      const messages = [user({ type: 'text', text: 'Hello there' })];
      const first = await ask({ messages, providerOptions: thinkingOptions });
      const { messages: added } = (await first.response) ?? {};
      messages.push(...added, user({ type: 'text', text: 'Go on' }));
      const next = await ask({ messages, providerOptions: thinkingOptions });
      return { thinking: first.reasoningText, text: first.text, next: next.text };
    },
    structured: async () => {
      const output = Output.object({ schema: jsonSchema(schema.person) });
      return (await ask({ prompt: 'Who?', output })).output;
    },
    media: async () => {
      const picture = { type: 'image', image: Buffer.from(png, 'base64'), mediaType: 'image/png' };
      const paper = { type: 'file', data: Buffer.from(pdf, 'base64'), mediaType: 'application/pdf', filename: 'a.pdf' };
      return { text: (await ask({ messages: [user({ type: 'text', text: 'Look' }, picture, paper)] })).text };
    },
    cancel: async () => {
      const leaving = new AbortController();
      const slow = { ...common, prompt: 'Slow', maxOutputTokens: 60_000, abortSignal: leaving.signal };
      for await (const _ of streamText(slow).textStream) leaving.abort();
      return { cancelled: leaving.signal.aborted };
    },
    retry: async () => ({ text: (await ask({ prompt: `Overloaded for AI ${provider} ${name}`, maxRetries: 4 })).text }),
    refusals: async () => ({
      key: await toldBy(ask({ model: modelOf(name, 'wrong'), prompt: 'Hello' }), 'statusCode'),
      model: await toldBy(ask({ model: modelOf('none'), prompt: 'Hello' }), 'statusCode'),
      invalid: await toldBy(ask({ prompt: 'Invalid' }), 'message'),
    }),
  };
  if (provider !== 'responses') delete scenarios.thinking;
  return scenarios;
});
