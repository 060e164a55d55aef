// LangChain for JavaScript against models: langchain.mjs BASE_URL KEY MODELS
import { ChatAnthropic } from '@langchain/anthropic';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { everyMode, pdf, png, schema, toldBy } from './scenarios.mjs';

const [baseUrl, apiKey] = process.argv.slice(2);
const weather = { name: 'weather', description: 'The weather of a city', input_schema: schema.city };

await everyMode((name) => {
  const chat = (options = {}) =>
    new ChatAnthropic({ model: name, apiKey, anthropicApiUrl: baseUrl, maxTokens: 3000, maxRetries: 0, ...options });
  const model = chat();
  const parts = (...content) => [new HumanMessage({ content })];
  const text = (words, fields) => ({ type: 'text', text: words, ...fields });

  /** The call of a tool, its result and the answer to that. */
  const loop = async (ask) => {
    const messages = [new HumanMessage('Call weather')];
    const answer = await ask(messages);
    const called = answer.tool_calls.map(({ args }) => args);
    const results = answer.tool_calls.map(
      ({ id, args }) => new ToolMessage({ tool_call_id: id, content: `Sunny in ${args.city}` }),
    );
    const last = await ask([...messages, answer, ...results]);
    return { called, text: last.text };
  };

  return {
    text: async () => {
      const answer = await model.invoke('Hello there');
      const { input_tokens: input, output_tokens: output } = answer.usage_metadata;
      return { text: answer.text, input, output };
    },
    stream: async () => {
      const pieces = [];
      for await (const { text: piece } of await model.stream('Hello there')) if (piece) pieces.push(piece);
      return { text: pieces.join(''), pieces: pieces.length };
    },
    tools: () => loop((messages) => model.bindTools([weather]).invoke(messages)),
    streamed_tools: () => loop((messages) => chat({ streaming: true }).bindTools([weather]).invoke(messages)),
    thinking: async () => {
      const thinker = chat({ thinking: { type: 'enabled', budget_tokens: 1024 } });
      const messages = [new HumanMessage('Hello there')];
      const first = await thinker.invoke(messages);
      const next = await thinker.invoke([...messages, first, new HumanMessage('Go on')]);
      return {
        thinking: first.content.find(({ type }) => type === 'thinking').thinking,
        text: first.text,
        next: next.text,
      };
    },
    structured: () => model.withStructuredOutput(schema.person, { name: 'person' }).invoke('Who?'),
    media: async () => {
      const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } };
      const paper = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } };
      return { text: (await model.invoke(parts(text('Look'), picture, paper))).text };
    },
    cache: async () => {
      const answer = await model.invoke(parts(text('Hello there', { cache_control: { type: 'ephemeral' } })));
      return { cached: answer.usage_metadata.input_token_details.cache_read };
    },
    citations: async () => {
      const source = { type: 'text', media_type: 'text/plain', data: 'A weir holds water back.' };
      const paper = { type: 'document', title: 'On weirs', source, citations: { enabled: true } };
      // Of one block that is not streamed it keeps the text alone.
      const answer = await chat({ streaming: true }).invoke(parts(text('What of weirs?'), paper));
      return { cited: answer.content.flatMap(({ citations = [] }) => citations.map((each) => each.document_title)) };
    },
    search: async () => {
      const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 1 };
      const answer = await model.bindTools([search]).invoke('Look for weirs');
      return { found: answer.content.flatMap(({ citations = [] }) => citations.map(({ url }) => url)) };
    },
    cancel: async () => {
      const leaving = new AbortController();
      const endless = chat({ maxTokens: 60_000, clientOptions: { maxRetries: 0 } });
      try {
        for await (const _ of await endless.stream('Slow', { signal: leaving.signal })) leaving.abort();
      } catch (error) {
        if (!leaving.signal.aborted) throw error;
      }
      return { cancelled: leaving.signal.aborted };
    },
    retry: async () => ({ text: (await chat({ maxRetries: 4 }).invoke('Overloaded for LangChain')).text }),
    refusals: async () => ({
      key: await toldBy(chat({ apiKey: 'wrong' }).invoke('Hello'), 'status'),
      model: await toldBy(chat({ model: 'none' }).invoke('Hello'), 'status'),
      invalid: await toldBy(model.invoke('Invalid'), 'message'),
    }),
  };
});
