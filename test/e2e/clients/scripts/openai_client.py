"""The openai package against models: openai_client.py BASE_URL KEY MODELS WAY/API

The way is sync or async: the same requests by the two clients of the package.
"""

import inspect
import json
import sys

import openai
import pydantic
from scenarios import CITY, PDF, PNG, run

base_url, key, _, argument = sys.argv[1:5]
way, api = argument.split("/")
Client = openai.AsyncOpenAI if way == "async" else openai.OpenAI
PICTURE = f"data:image/png;base64,{PNG}"
PAPER = f"data:application/pdf;base64,{PDF}"
DESCRIPTION = "The weather of a city"


class Person(pydantic.BaseModel):
    name: str
    age: int


async def done(value):
    """What a call gives: at once in the one client, after waiting in the other."""
    return await value if inspect.isawaitable(value) else value


async def pieces_of(stream):
    if way == "async":
        return [piece async for piece in stream]
    return list(stream)


async def final_of(manager, final):
    """What a stream of the package's helpers has put together."""
    if way == "async":
        async with manager as stream:
            return await getattr(stream, final)()
    with manager as stream:
        return getattr(stream, final)()


async def left(stream, wanted):
    """Whether a stream could be left after its first wanted event."""
    if way == "async":
        async for event in stream:
            if wanted(event):
                break
    else:
        for event in stream:
            if wanted(event):
                break
    await done(stream.close())
    return {"cancelled": True}


def client(api_key=key, retries=0):
    return Client(base_url=f"{base_url}/v1", api_key=api_key, max_retries=retries)


async def refusals_of(ask):
    async def told(asked):
        try:
            await asked
        except openai.APIStatusError as error:
            return error

    return {
        "key": (await told(ask("Hello", asked=client("wrong")))).status_code,
        "model": (await told(ask("Hello", model="none"))).status_code,
        "invalid": getattr(await told(ask("Invalid")), "message", None),
    }


def chat(model):
    def asking(content, **options):
        messages = content if isinstance(content, list) and "role" in content[0] else [{"role": "user", "content": content}]
        return {"model": model, "max_completion_tokens": 3000, "messages": messages, **options}

    async def ask(content, asked=None, **options):
        return await done((asked or client()).chat.completions.create(**asking(content, **options)))

    def text_of(completion):
        return completion.choices[0].message.content

    weather = {"type": "function", "function": {"name": "weather", "description": DESCRIPTION, "parameters": CITY, "strict": True}}

    async def text():
        answer = await ask("Hello there")
        return {"text": text_of(answer), "input": answer.usage.prompt_tokens, "output": answer.usage.completion_tokens}

    async def stream():
        chunks = await pieces_of(await ask("Hello there", stream=True))
        pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
        return {"text": "".join(pieces), "pieces": len(pieces)}

    async def loop(turn):
        messages = [{"role": "user", "content": "Call weather"}]
        message = (await turn(messages)).choices[0].message
        called = [json.loads(call.function.arguments) for call in message.tool_calls]
        results = [
            {"role": "tool", "tool_call_id": call.id, "content": f"Sunny in {given['city']}"}
            for call, given in zip(message.tool_calls, called)
        ]
        # As it is dumped, with every member that is null.
        return {"called": called, "text": text_of(await turn([*messages, message.model_dump(), *results]))}

    async def tools():
        return await loop(lambda messages: ask(messages, tools=[weather]))

    async def streamed_tools():
        def turn(messages):
            manager = client().chat.completions.stream(**asking(messages, tools=[weather]))
            return final_of(manager, "get_final_completion")

        return await loop(turn)

    async def structured():
        parsed = await done(client().chat.completions.parse(**asking("Who?", response_format=Person)))
        return parsed.choices[0].message.parsed.model_dump()

    async def media():
        picture = {"type": "image_url", "image_url": {"url": PICTURE}}
        paper = {"type": "file", "file": {"filename": "a.pdf", "file_data": PAPER}}
        return {"text": text_of(await ask([{"type": "text", "text": "Look"}, picture, paper]))}

    async def cancel():
        stream = await ask("Slow", stream=True, max_completion_tokens=60_000)
        return await left(stream, lambda chunk: bool(chunk.choices[0].delta.content))

    async def retry():
        return {"text": text_of(await ask(f"Overloaded for {argument} {model}", client(retries=4)))}

    async def refusals():
        return await refusals_of(ask)

    return [text, stream, tools, streamed_tools, structured, media, cancel, retry, refusals]


def responses(model):
    def asking(given, **options):
        return {"model": model, "max_output_tokens": 3000, "input": given, **options}

    async def ask(given, asked=None, **options):
        return await done((asked or client()).responses.create(**asking(given, **options)))

    weather = {"type": "function", "name": "weather", "description": DESCRIPTION, "parameters": CITY, "strict": True}
    # A provider keeps nothing: what was thought has to come along.
    thoughtful = {"reasoning": {"effort": "high"}, "include": ["reasoning.encrypted_content"]}

    async def text():
        answer = await ask("Hello there")
        return {"text": answer.output_text, "input": answer.usage.input_tokens, "output": answer.usage.output_tokens}

    async def stream():
        events = await pieces_of(await ask("Hello there", stream=True))
        pieces = [event.delta for event in events if event.type == "response.output_text.delta"]
        return {"text": "".join(pieces), "pieces": len(pieces)}

    async def loop(turn):
        given = [{"role": "user", "content": "Call weather"}]
        answer = await turn(given)
        calls = [item for item in answer.output if item.type == "function_call"]
        called = [json.loads(call.arguments) for call in calls]
        results = [
            {"type": "function_call_output", "call_id": call.call_id, "output": f"Sunny in {each['city']}"}
            for call, each in zip(calls, called)
        ]
        return {"called": called, "text": (await turn([*given, *answer.output, *results])).output_text}

    async def tools():
        return await loop(lambda given: ask(given, tools=[weather], **thoughtful))

    async def streamed_tools():
        def turn(given):
            manager = client().responses.stream(**asking(given, tools=[weather], **thoughtful))
            return final_of(manager, "get_final_response")

        return await loop(turn)

    async def thinking():
        given = [{"role": "user", "content": "Hello there"}]
        first = await final_of(client().responses.stream(**asking(given, **thoughtful)), "get_final_response")
        following = await ask([*given, *first.output, {"role": "user", "content": "Go on"}], **thoughtful)
        thought = first.output[0].content[0].text
        return {"thinking": thought, "text": first.output_text, "next": following.output_text}

    async def structured():
        return (await done(client().responses.parse(**asking("Who?", text_format=Person)))).output_parsed.model_dump()

    async def media():
        content = [
            {"type": "input_text", "text": "Look"},
            {"type": "input_image", "image_url": PICTURE, "detail": "auto"},
            {"type": "input_file", "filename": "a.pdf", "file_data": PAPER},
        ]
        return {"text": (await ask([{"role": "user", "content": content}])).output_text}

    async def cancel():
        stream = await ask("Slow", stream=True, max_output_tokens=60_000)
        return await left(stream, lambda event: event.type == "response.output_text.delta")

    async def retry():
        return {"text": (await ask(f"Overloaded for {argument} {model}", client(retries=4))).output_text}

    async def refusals():
        return await refusals_of(ask)

    return [text, stream, tools, streamed_tools, thinking, structured, media, cancel, retry, refusals]


def scenarios(model):
    async def models():
        one = await done(client().models.retrieve(model))
        listed = client().models.list()
        if way == "sync":
            return {"id": one.id, "type": one.object, "listed": model in [each.id for each in listed]}
        return {"id": one.id, "type": one.object, "listed": model in [each.id async for each in listed]}

    plays = chat(model) if api == "chat" else responses(model)
    return {play.__name__: play for play in [*plays, models]}


run(scenarios, at_once="tasks" if way == "async" else "threads")
