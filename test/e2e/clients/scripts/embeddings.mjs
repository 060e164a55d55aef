// Embedders against a model: embeddings.mjs BASE_URL KEY MODEL
// Prints a line of JSON: of each client the first number and the length of each embedding.
import { OpenAIEmbeddings } from '@langchain/openai';
import OpenAI from 'openai';

const [baseUrl, key, model] = process.argv.slice(2);
const baseURL = `${baseUrl}/v1`;
const texts = ['one', 'three', ''];
const shown = (embeddings) => embeddings.map((embedding) => [embedding[0], embedding.length]);
const client = new OpenAI({ baseURL, apiKey: key, maxRetries: 0 });
const ofSdk = async (input, options = {}) => {
  const { data, model: named, usage } = await client.embeddings.create({ model, input, ...options });
  if (named !== model || usage.prompt_tokens !== 21) throw new Error(`Another answer: ${named} ${usage.prompt_tokens}`);
  return shown(data.map(({ embedding }) => embedding));
};
const langchain = new OpenAIEmbeddings({ model, apiKey: key, maxRetries: 0, configuration: { baseURL } });

process.stdout.write(
  JSON.stringify({
    sdk: await ofSdk(texts),
    'sdk, float': await ofSdk('one', { encoding_format: 'float' }),
    'sdk, tokens': await ofSdk([[1, 2], [3]]),
    'sdk, dimensions': await ofSdk(texts, { dimensions: 5 }),
    'sdk, refused': await ofSdk(Array(2049).fill('a')).catch(({ code, param }) => [code, param]),
    LangChain: shown(await langchain.embedDocuments(texts.slice(0, 2))),
  }),
);
