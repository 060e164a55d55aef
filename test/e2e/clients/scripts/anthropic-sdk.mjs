// One major of the official SDK against models: anthropic-sdk.mjs BASE_URL KEY MODELS PACKAGE
import { everyMode, pdf, png, schema, toldBy } from './scenarios.mjs';

const [baseURL, apiKey, , packageName] = process.argv.slice(2);
const { default: Anthropic } = await import(packageName);
const { betaTool } = await import(`${packageName}/helpers/beta/json-schema`);
const { jsonSchemaOutputFormat } = await import(`${packageName}/helpers/json-schema`);

const client = (options = {}) => new Anthropic({ baseURL, apiKey, maxRetries: 0, ...options });
const user = (content) => ({ role: 'user', content });
const text = (words, fields) => ({ type: 'text', text: words, ...fields });
const textOf = ({ content }) => content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
const weather = { name: 'weather', description: 'The weather of a city', input_schema: schema.city };

await everyMode((model) => {
  const request = (messages, options) => ({ model, max_tokens: 3000, messages, ...options });
  const ask = (content, options) => client().messages.create(request([user(content)], options));
  const streamed = (messages, options) => client().messages.stream(request(messages, options)).finalMessage();

  /** The call of a tool, its result and the answer to that. */
  const loop = async (turn) => {
    const messages = [user('Call weather')];
    const answer = await turn(messages);
    const calls = answer.content.filter(({ type }) => type === 'tool_use');
    const results = calls.map(({ id, input }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: `Sunny in ${input.city}`,
    }));
    const last = await turn([...messages, { role: 'assistant', content: answer.content }, user(results)]);
    return { called: calls.map(({ input }) => input), text: textOf(last) };
  };

  /** A tool that remembers its calls. */
  const remembered = () => {
    const called = [];
    const run = (input) => {
      called.push(input);
      return `Sunny in ${input.city}`;
    };
    const { name, description } = weather;
    return { called, tools: [betaTool({ name, description, inputSchema: schema.city, run })] };
  };

  return {
    text: async () => {
      const message = await ask('Hello there');
      return { text: textOf(message), input: message.usage.input_tokens, output: message.usage.output_tokens };
    },
    stream: async () => {
      const pieces = [];
      const stream = client().messages.stream(request([user('Hello there')]));
      stream.on('text', (piece) => pieces.push(piece));
      return { text: await stream.finalText(), pieces: pieces.length };
    },
    tools: () => loop((messages) => client().messages.create(request(messages, { tools: [weather] }))),
    streamed_tools: () => loop((messages) => streamed(messages, { tools: [weather] })),
    runner: async () => {
      const { called, tools } = remembered();
      const last = await client().beta.messages.toolRunner(request([user('Call weather')], { tools }));
      return { called, text: textOf(last) };
    },
    streamed_runner: async () => {
      const { called, tools } = remembered();
      const turns = client().beta.messages.toolRunner(request([user('Call weather')], { tools, stream: true }));
      let last;
      for await (const turn of turns) last = await turn.finalMessage();
      return { called, text: textOf(last) };
    },
    // A thread that cannot be stored: the whole history is sent instead.
    threads: async () => {
      const unsupportedRequestBehavior = 'continue_unthreaded';
      const thread = client().beta.messages.thread({ model, max_tokens: 3000, unsupportedRequestBehavior });
      const first = await thread.send(user('Hello there'));
      const next = await thread.send(user('Go on'));
      return { text: textOf(first), next: textOf(next), held: thread.messages.length };
    },
    thinking: async () => {
      const thinking = { type: 'enabled', budget_tokens: 1024 };
      const messages = [user('Hello there')];
      const first = await client().messages.create(request(messages, { thinking }));
      messages.push({ role: 'assistant', content: first.content }, user('Go on'));
      const next = await streamed(messages, { thinking });
      return { thinking: first.content[0].thinking, text: textOf(first), next: textOf(next) };
    },
    structured: async () => {
      const output_config = { format: jsonSchemaOutputFormat(schema.person) };
      return (await client().messages.parse(request([user('Who?')], { output_config }))).parsed_output;
    },
    media: async () => {
      const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } };
      const paper = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } };
      return { text: textOf(await ask([text('Look'), picture, paper])) };
    },
    cache: async () => {
      const { usage } = await ask([text('Hello there', { cache_control: { type: 'ephemeral' } })]);
      return { cached: usage.cache_read_input_tokens };
    },
    citations: async () => {
      const source = { type: 'text', media_type: 'text/plain', data: 'A weir holds water back.' };
      const paper = { type: 'document', title: 'On weirs', source, citations: { enabled: true } };
      const { content } = await streamed([user([text('What of weirs?'), paper])]);
      return { cited: content.flatMap(({ citations }) => citations ?? []).map(({ document_title }) => document_title) };
    },
    search: async () => {
      const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }];
      const { content } = await streamed([user('Look for weirs')], { tools });
      return { found: content.flatMap(({ citations }) => citations ?? []).map(({ url }) => url) };
    },
    count: async () => ({
      tokens: (await client().messages.countTokens({ model, messages: [user('Hello there')] })).input_tokens,
    }),
    models: async () => {
      const { id, type } = await client().models.retrieve(model);
      return { id, type };
    },
    cancel: async () => {
      const stream = client().messages.stream(request([user('Slow')], { max_tokens: 60_000 }));
      await new Promise((resolve) => stream.once('text', resolve));
      stream.abort();
      const error = await stream.finalMessage().catch((reason) => reason);
      return { cancelled: error instanceof Anthropic.APIUserAbortError };
    },
    retry: async () => {
      const asked = client({ maxRetries: 4 }).messages.create(request([user(`Overloaded for ${packageName}`)]));
      return { text: textOf(await asked) };
    },
    refusals: async () => ({
      key: await toldBy(client({ apiKey: 'wrong' }).messages.create(request([user('Hello')])), 'status'),
      model: await toldBy(ask('Hello', { model: 'none' }), 'status'),
      invalid: await toldBy(ask('Invalid'), 'message'),
    }),
  };
});
