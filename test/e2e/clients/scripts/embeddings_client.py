"""Embedders against a model: embeddings_client.py BASE_URL KEY MODEL

Prints a line of JSON: of each client the first number and the length of each embedding, or why it could not be tried.
"""

import asyncio
import json
import sys

import openai
import tiktoken
from langchain_openai import OpenAIEmbeddings
from llama_index.embeddings.openai import OpenAIEmbedding

base_url, key, model = sys.argv[1:4]
url = f"{base_url}/v1"
TEXTS = ["one", "three", ""]


class Codepoints:
    """In place of an encoding from the network: LangChain sends tokens."""

    def encode_ordinary(self, text):
        return [ord(letter) for letter in text]

    encode = encode_ordinary


def shown(embeddings):
    return [[embedding[0], len(embedding)] for embedding in embeddings]


def of_sdk(given, **options):
    client = openai.OpenAI(base_url=url, api_key=key, max_retries=0)
    answer = client.embeddings.create(model=model, input=given, **options)
    assert answer.model == model and answer.usage.prompt_tokens == 21
    return shown(each.embedding for each in answer.data)


async def of_async_sdk():
    async with openai.AsyncOpenAI(base_url=url, api_key=key, max_retries=0) as client:
        answer = await client.embeddings.create(model=model, input=TEXTS, dimensions=5)
        return shown(each.embedding for each in answer.data)


def refused(given):
    try:
        return of_sdk(given)
    except openai.BadRequestError as error:
        return [error.code, error.param]


langchain = {"model": model, "base_url": url, "api_key": key, "max_retries": 0}
tiktoken.encoding_for_model = tiktoken.get_encoding = lambda *_: Codepoints()
print(
    json.dumps(
        {
            "sdk": of_sdk(TEXTS),
            "sdk, float": of_sdk("one", encoding_format="float"),
            "sdk, tokens": of_sdk([[1, 2], [3]]),
            "sdk, async": asyncio.run(of_async_sdk()),
            "sdk, refused": refused(["a"] * 2049),
            "LangChain, tokens": shown(OpenAIEmbeddings(**langchain).embed_documents(TEXTS[:2])),
            "LangChain, texts": shown(
                OpenAIEmbeddings(**langchain, check_embedding_ctx_length=False).embed_documents(TEXTS[:2])
            ),
            "LlamaIndex": shown(
                OpenAIEmbedding(
                    model_name=model, api_base=url, api_key=key, max_retries=0
                ).get_text_embedding_batch(TEXTS[:2])
            ),
        }
    )
)
