// The openai package against models: openai-sdk.mjs BASE_URL KEY MODELS PACKAGE/API
import { z } from 'zod';
import { everyMode, pdf, png, schema, toldBy } from './scenarios.mjs';

const [baseUrl, key, , argument] = process.argv.slice(2);
const [name, api] = argument.split('/');
const { default: OpenAI } = await import(name);
const { zodResponseFormat, zodTextFormat } = await import(`${name}/helpers/zod`);

const Person = z.object({ name: z.string(), age: z.number().int() });
const description = 'The weather of a city';
const dataOf = (type, data) => `data:${type};base64,${data}`;

await everyMode((model) => {
  const client = (apiKey = key, maxRetries = 0) => new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, maxRetries });
  const models = async () => {
    const listed = [];
    for await (const { id } of client().models.list()) listed.push(id);
    const { id, object } = await client().models.retrieve(model);
    return { id, type: object, listed: listed.includes(model) };
  };

  const chat = () => {
    const { completions } = client().chat;
    const asking = (content, more) => ({
      model,
      max_completion_tokens: 3000,
      messages: Array.isArray(content) && content[0].role ? content : [{ role: 'user', content }],
      ...more,
    });
    const textOf = ({ choices }) => choices[0].message.content;
    const ask = (content, more) => completions.create(asking(content, more));
    const weather = { type: 'function', function: { name: 'weather', description, parameters: schema.city } };
    const loop = async (turn) => {
      const messages = [{ role: 'user', content: 'Call weather' }];
      const { message } = (await turn(messages)).choices[0];
      const called = message.tool_calls.map((call) => JSON.parse(call.function.arguments));
      const results = message.tool_calls.map(({ id }, index) => ({
        role: 'tool',
        tool_call_id: id,
        content: `Sunny in ${called[index].city}`,
      }));
      return { called, text: textOf(await turn([...messages, message, ...results])) };
    };
    return {
      text: async () => {
        const answer = await ask('Hello there');
        return { text: textOf(answer), input: answer.usage.prompt_tokens, output: answer.usage.completion_tokens };
      },
      stream: async () => {
        const pieces = [];
        for await (const { choices } of await ask('Hello there', { stream: true })) {
          if (choices[0]?.delta.content) pieces.push(choices[0].delta.content);
        }
        return { text: pieces.join(''), pieces: pieces.length };
      },
      tools: () => loop((messages) => ask(messages, { tools: [weather] })),
      streamed_tools: () =>
        loop((messages) => completions.stream(asking(messages, { tools: [weather] })).finalChatCompletion()),
      runner: async () => {
        const called = [];
        const run = (input) => {
          called.push(input);
          return `Sunny in ${input.city}`;
        };
        const tool = { ...weather, function: { ...weather.function, parse: JSON.parse, function: run } };
        const text = await completions.runTools(asking('Call weather', { tools: [tool] })).finalContent();
        return { called, text };
      },
      structured: async () => {
        const response_format = zodResponseFormat(Person, 'person');
        const messages = [{ role: 'user', content: 'Who?' }];
        const { message } = (await completions.parse(asking(messages, { response_format }))).choices[0];
        // What the SDK has put in goes back with it.
        await ask([...messages, message, { role: 'user', content: 'Go on' }]);
        return message.parsed;
      },
      media: async () => {
        const picture = { type: 'image_url', image_url: { url: dataOf('image/png', png), detail: 'auto' } };
        const file = { filename: 'a.pdf', file_data: dataOf('application/pdf', pdf) };
        return { text: textOf(await ask([{ type: 'text', text: 'Look' }, picture, { type: 'file', file }])) };
      },
      cancel: async () => {
        const stream = await ask('Slow', { stream: true, max_completion_tokens: 60_000 });
        for await (const _ of stream) stream.controller.abort();
        return { cancelled: stream.controller.signal.aborted };
      },
      retry: async () => {
        const asked = client(key, 4).chat.completions.create(asking(`Overloaded for ${argument} ${model}`));
        return { text: textOf(await asked) };
      },
      refusals: async () => ({
        key: await toldBy(client('wrong').chat.completions.create(asking('Hello')), 'status'),
        model: await toldBy(ask('Hello', { model: 'none' }), 'status'),
        invalid: await toldBy(ask('Invalid'), 'message'),
      }),
    };
  };

  const responses = () => {
    const asking = (input, more) => ({ model, max_output_tokens: 3000, input, ...more });
    const ask = (input, more) => client().responses.create(asking(input, more));
    const weather = { type: 'function', name: 'weather', description, parameters: schema.city, strict: true };
    // A provider keeps nothing: what was thought has to come along.
    const thinking = { reasoning: { effort: 'high' }, include: ['reasoning.encrypted_content'] };
    const loop = async (turn) => {
      const input = [{ role: 'user', content: 'Call weather' }];
      const { output } = await turn(input);
      const calls = output.filter(({ type }) => type === 'function_call');
      const called = calls.map((call) => JSON.parse(call.arguments));
      const results = calls.map(({ call_id }, index) => ({
        type: 'function_call_output',
        call_id,
        output: `Sunny in ${called[index].city}`,
      }));
      return { called, text: (await turn([...input, ...output, ...results])).output_text };
    };
    return {
      text: async () => {
        const { output_text, usage } = await ask('Hello there');
        return { text: output_text, input: usage.input_tokens, output: usage.output_tokens };
      },
      stream: async () => {
        const pieces = [];
        for await (const event of await ask('Hello there', { stream: true })) {
          if (event.type === 'response.output_text.delta') pieces.push(event.delta);
        }
        return { text: pieces.join(''), pieces: pieces.length };
      },
      tools: () => loop((input) => ask(input, { tools: [weather], ...thinking })),
      streamed_tools: () =>
        loop((input) =>
          client()
            .responses.stream(asking(input, { tools: [weather], ...thinking }))
            .finalResponse(),
        ),
      thinking: async () => {
        const input = [{ role: 'user', content: 'Hello there' }];
        const first = await client().responses.stream(asking(input, thinking)).finalResponse();
        const next = await ask([...input, ...first.output, { role: 'user', content: 'Go on' }], thinking);
        const [thought] = first.output;
        return { thinking: thought.content[0].text, text: first.output_text, next: next.output_text };
      },
      structured: async () => {
        const text = { format: zodTextFormat(Person, 'person') };
        const input = [{ role: 'user', content: 'Who?' }];
        const { output, output_parsed } = await client().responses.parse(asking(input, { text }));
        await ask([...input, ...output, { role: 'user', content: 'Go on' }]);
        return output_parsed;
      },
      media: async () => {
        const content = [
          { type: 'input_text', text: 'Look' },
          { type: 'input_image', image_url: dataOf('image/png', png), detail: 'auto' },
          { type: 'input_file', filename: 'a.pdf', file_data: dataOf('application/pdf', pdf) },
        ];
        return { text: (await ask([{ role: 'user', content }])).output_text };
      },
      cancel: async () => {
        const stream = await ask('Slow', { stream: true, max_output_tokens: 60_000 });
        for await (const { type } of stream) if (type === 'response.output_text.delta') stream.controller.abort();
        return { cancelled: stream.controller.signal.aborted };
      },
      retry: async () => {
        const asked = client(key, 4).responses.create(asking(`Overloaded for ${argument} ${model}`));
        return { text: (await asked).output_text };
      },
      refusals: async () => ({
        key: await toldBy(client('wrong').responses.create(asking('Hello')), 'status'),
        model: await toldBy(ask('Hello', { model: 'none' }), 'status'),
        invalid: await toldBy(ask('Invalid'), 'message'),
      }),
    };
  };

  return { ...(api === 'chat' ? chat() : responses()), models };
});
