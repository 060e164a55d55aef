// The AI SDK of one major (the last argument) against models: ai-sdk.mjs BASE_URL KEY MODELS MAJOR
import { everyMode, pdf, png, schema, toldBy } from './scenarios.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;
const [baseUrl, apiKey, , major] = process.argv.slice(2);
const { generateText, streamText, generateObject, jsonSchema, tool, ...sdk } = await import(`ai-${major}`);
const { createAnthropic } = await import(`ai-${major}-anthropic`);

const provider = (key = apiKey) => createAnthropic({ baseURL: `${baseUrl}/v1`, apiKey: key });
const twoSteps = (sdk.isStepCount ?? sdk.stepCountIs)(2);
const weather = () => {
  const called = [];
  const tools = {
    weather: tool({
      description: 'The weather of a city',
      inputSchema: jsonSchema(schema.city),
      execute: (input) => {
        called.push(input);
        return `Sunny in ${input.city}`;
      },
    }),
  };
  return { called, tools };
};
const user = (...content) => ({ role: 'user', content });

await everyMode((name) => {
  const model = provider()(name);
  const ask = (options) => generateText({ model, maxRetries: 0, maxOutputTokens: 3000, ...options });
  const asked = (prompt) => ask({ prompt });
  const thinking = { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } };
  return {
    text: async () => {
      const { text, usage } = await asked('Hello there');
      return { text, input: usage.inputTokens, output: usage.outputTokens };
    },
    stream: async () => {
      const { textStream, text } = streamText({ model, maxRetries: 0, prompt: 'Hello there' });
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
      const { text } = streamText({ model, maxRetries: 0, prompt: 'Call weather', tools, stopWhen: twoSteps });
      return { text: await text, called };
    },
    thinking: async () => {
      const messages = [user({ type: 'text', text: 'Hello there' })];
      const first = await ask({ messages, providerOptions: thinking });
      const { messages: added } = (await first.response) ?? {};
      messages.push(...added, user({ type: 'text', text: 'Go on' }));
      const next = await ask({ messages, providerOptions: thinking });
      return { thinking: first.reasoningText, text: first.text, next: next.text };
    },
    structured: async () => {
      const { object } = await generateObject({
        model,
        maxRetries: 0,
        prompt: 'Who?',
        schema: jsonSchema(schema.person),
      });
      return object;
    },
    media: async () => {
      const picture = { type: 'image', image: Buffer.from(png, 'base64'), mediaType: 'image/png' };
      const paper = { type: 'file', data: Buffer.from(pdf, 'base64'), mediaType: 'application/pdf' };
      const { text } = await ask({ messages: [user({ type: 'text', text: 'Look' }, picture, paper)] });
      return { text };
    },
    cache: async () => {
      const providerOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } };
      const { usage } = await ask({ messages: [user({ type: 'text', text: 'Hello there', providerOptions })] });
      return { cached: usage.inputTokenDetails?.cacheReadTokens ?? usage.cachedInputTokens };
    },
    citations: async () => {
      const providerOptions = { anthropic: { citations: { enabled: true } } };
      const data = Buffer.from('A weir holds water back.');
      const paper = { type: 'file', data, mediaType: 'text/plain', filename: 'On weirs', providerOptions };
      const { sources } = await ask({ messages: [user({ type: 'text', text: 'What of weirs?' }, paper)] });
      return { cited: sources.map(({ title }) => title) };
    },
    search: async () => {
      const tools = { web_search: provider().tools.webSearch_20250305({ maxUses: 1 }) };
      let failure;
      const onError = ({ error }) => {
        failure = error;
      };
      const { sources } = streamText({ model, maxRetries: 0, prompt: 'Look for weirs', tools, onError });
      try {
        return { found: (await sources).map(({ url }) => url) };
      } catch (error) {
        throw failure ?? error;
      }
    },
    cancel: async () => {
      const leaving = new AbortController();
      const { textStream } = streamText({
        model,
        prompt: 'Slow',
        maxOutputTokens: 60_000,
        abortSignal: leaving.signal,
      });
      for await (const _ of textStream) leaving.abort();
      return { cancelled: leaving.signal.aborted };
    },
    retry: async () => ({ text: (await ask({ prompt: `Overloaded ${major}`, maxRetries: 4 })).text }),
    refusals: async () => ({
      key: await toldBy(ask({ model: provider('wrong')(name), prompt: 'Hello' }), 'statusCode'),
      model: await toldBy(ask({ model: provider()('none'), prompt: 'Hello' }), 'statusCode'),
      invalid: await toldBy(asked('Invalid'), 'message'),
    }),
  };
});
