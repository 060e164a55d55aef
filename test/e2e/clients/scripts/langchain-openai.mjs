// LangChain for JavaScript against models: langchain-openai.mjs BASE_URL KEY MODELS API
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { everyMode, pdf, png, schema, toldBy } from './scenarios.mjs';

const [baseUrl, key, , api] = process.argv.slice(2);
const useResponsesApi = api === 'responses';
const weather = {
  type: 'function',
  function: { name: 'weather', description: 'The weather of a city', parameters: schema.city },
};

await everyMode((name) => {
  const chat = ({ apiKey = key, ...options } = {}) =>
    new ChatOpenAI({
      model: name,
      apiKey,
      configuration: { baseURL: `${baseUrl}/v1` },
      maxTokens: 3000,
      maxRetries: 0,
      useResponsesApi,
      ...(useResponsesApi && { zdrEnabled: true }),
      ...options,
    });
  // A provider keeps nothing: what was thought has to come along.
  const include = ['reasoning.encrypted_content'];
  const model = chat();
  const loop = async (ask) => {
    const messages = [new HumanMessage('Call weather')];
    const answer = await ask(messages);
    const called = answer.tool_calls.map(({ args }) => args);
    const results = answer.tool_calls.map(
      ({ id, args }) => new ToolMessage({ tool_call_id: id, content: `Sunny in ${args.city}` }),
    );
    return { called, text: (await ask([...messages, answer, ...results])).text };
  };
  const scenarios = {
    text: async () => {
      const answer = await model.invoke('Hello there');
      const { input_tokens: input, output_tokens: output } = answer.usage_metadata;
      return { text: answer.text, input, output };
    },
    stream: async () => {
      const pieces = [];
      for await (const { text } of await model.stream('Hello there')) if (text) pieces.push(text);
      return { text: pieces.join(''), pieces: pieces.length };
    },
    tools: () => loop((messages) => model.bindTools([weather]).invoke(messages)),
    streamed_tools: () =>
      loop(async (messages) => {
        let whole;
        for await (const piece of await model.bindTools([weather]).stream(messages)) {
          whole = whole === undefined ? piece : whole.concat(piece);
        }
        return whole;
      }),
    thinking: async () => {
      const thinker = chat({ modelKwargs: { reasoning: { effort: 'high', summary: 'auto' }, include } });
      const messages = [new HumanMessage('Hello there')];
      const first = await thinker.invoke(messages);
      const next = await thinker.invoke([...messages, first, new HumanMessage('Go on')]);
      const { summary } = first.additional_kwargs.reasoning;
      return { thinking: summary.map(({ text }) => text).join(''), text: first.text, next: next.text };
    },
    structured: () =>
      model.withStructuredOutput(schema.person, { name: 'person', method: 'jsonSchema', strict: true }).invoke('Who?'),
    media: async () => {
      const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } };
      const paper = { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` } };
      const content = [{ type: 'text', text: 'Look' }, picture, paper];
      return { text: (await model.invoke([new HumanMessage({ content })])).text };
    },
    cancel: async () => {
      const leaving = new AbortController();
      try {
        const slow = await chat({ maxTokens: 60_000 }).stream('Slow', { signal: leaving.signal });
        for await (const _ of slow) leaving.abort();
      } catch (error) {
        if (!leaving.signal.aborted) throw error;
      }
      return { cancelled: leaving.signal.aborted };
    },
    retry: async () => ({
      text: (await chat({ maxRetries: 4 }).invoke(`Overloaded for LangChain ${api} ${name}`)).text,
    }),
    refusals: async () => ({
      key: await toldBy(chat({ apiKey: 'wrong' }).invoke('Hello'), 'status'),
      model: await toldBy(chat({ model: 'none' }).invoke('Hello'), 'status'),
      invalid: await toldBy(model.invoke('Invalid'), 'message'),
    }),
  };
  if (!useResponsesApi) delete scenarios.thinking;
  return scenarios;
});
