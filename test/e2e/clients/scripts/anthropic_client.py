"""The anthropic package against models: anthropic_client.py BASE_URL KEY MODELS WAY

The way is sync or async: the same requests by the two clients of the package.
"""

import inspect
import sys

import anthropic
from scenarios import CITY, PDF, PERSON, PNG, run

base_url, key, _, way = sys.argv[1:5]
Client = anthropic.AsyncAnthropic if way == "async" else anthropic.Anthropic
WEATHER = {"name": "weather", "description": "The weather of a city", "input_schema": CITY}


async def done(value):
    """What a call gives: at once in the one client, after waiting in the other."""
    return await value if inspect.isawaitable(value) else value


async def pieces_of(stream):
    if way == "async":
        return [piece async for piece in stream]
    return list(stream)


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def scenarios(model):
    def client(api_key=key, retries=0):
        return Client(base_url=base_url, api_key=api_key, max_retries=retries)

    async def ask(content, asked=None, **options):
        messages = content if isinstance(content, list) and "role" in content[0] else [{"role": "user", "content": content}]
        options = {"model": model, "max_tokens": 3000, "messages": messages, **options}
        return await done((asked or client()).messages.create(**options))

    async def text():
        message = await ask("Hello there")
        return {"text": text_of(message), "input": message.usage.input_tokens, "output": message.usage.output_tokens}

    async def streamed(content, **options):
        """The final message of a stream, and the pieces of its text."""
        messages = content if isinstance(content, list) else [{"role": "user", "content": content}]
        manager = client().messages.stream(model=model, max_tokens=3000, messages=messages, **options)
        if way == "async":
            async with manager as stream:
                pieces = [piece async for piece in stream.text_stream]
                return await stream.get_final_message(), pieces
        with manager as stream:
            pieces = list(stream.text_stream)
            return stream.get_final_message(), pieces

    async def stream():
        message, pieces = await streamed("Hello there")
        assert "".join(pieces) == text_of(message)
        return {"text": text_of(message), "pieces": len(pieces)}

    async def loop(turn):
        messages = [{"role": "user", "content": "Call weather"}]
        message = await turn(messages)
        calls = [block for block in message.content if block.type == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": f"Sunny in {call.input['city']}"} for call in calls
        ]
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
        return {"called": [call.input for call in calls], "text": text_of(await turn(messages))}

    async def tools():
        return await loop(lambda messages: ask(messages, tools=[WEATHER]))

    async def streamed_tools():
        async def turn(messages):
            return (await streamed(messages, tools=[WEATHER]))[0]

        return await loop(turn)

    async def runner():
        called = []

        def weather(city: str) -> str:
            """The weather of a city."""
            called.append({"city": city})
            return f"Sunny in {city}"

        async def later(city: str) -> str:
            """The weather of a city."""
            return weather(city)

        tool = (
            anthropic.beta_async_tool(later, name="weather") if way == "async" else anthropic.beta_tool(weather)
        )
        messages = [{"role": "user", "content": "Call weather"}]
        runs = client().beta.messages.tool_runner(model=model, max_tokens=3000, messages=messages, tools=[tool])
        return {"called": called, "text": text_of((await pieces_of(runs))[-1])}

    async def thinking():
        options = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
        messages = [{"role": "user", "content": "Hello there"}]
        first = await ask(messages, **options)
        messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": "Go on"}]
        following = (await streamed(messages, **options))[0]
        return {"thinking": first.content[0].thinking, "text": text_of(first), "next": text_of(following)}

    async def structured():
        import pydantic

        class Person(pydantic.BaseModel):
            name: str
            age: int

        messages = [{"role": "user", "content": "Who?"}]
        parsed = client().messages.parse(model=model, max_tokens=3000, messages=messages, output_format=Person)
        return (await done(parsed)).parsed_output.model_dump()

    async def media():
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
        paper = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}
        return {"text": text_of(await ask([{"type": "text", "text": "Look"}, picture, paper]))}

    async def cache():
        said = {"type": "text", "text": "Hello there", "cache_control": {"type": "ephemeral"}}
        return {"cached": (await ask([said])).usage.cache_read_input_tokens}

    async def citations():
        source = {"type": "text", "media_type": "text/plain", "data": "A weir holds water back."}
        paper = {"type": "document", "title": "On weirs", "source": source, "citations": {"enabled": True}}
        content = [{"role": "user", "content": [{"type": "text", "text": "What of weirs?"}, paper]}]
        message = (await streamed(content))[0]
        return {"cited": [each.document_title for block in message.content for each in block.citations or []]}

    async def search():
        tool = {"type": "web_search_20250305", "name": "web_search", "max_uses": 1}
        message = (await streamed("Look for weirs", tools=[tool]))[0]
        said = [block for block in message.content if block.type == "text"]
        return {"found": [each.url for block in said for each in block.citations or []]}

    async def count():
        messages = [{"role": "user", "content": "Hello there"}]
        return {"tokens": (await done(client().messages.count_tokens(model=model, messages=messages))).input_tokens}

    async def models():
        one = await done(client().models.retrieve(model))
        return {"id": one.id, "type": one.type, "listed": model in [each.id for each in await pieces_of(await done_list())]}

    async def done_list():
        return client().models.list() if way == "async" else client().models.list()

    async def cancel():
        messages = [{"role": "user", "content": "Slow"}]
        stream = await done(client().messages.create(model=model, max_tokens=60_000, messages=messages, stream=True))
        await (anext(aiter(stream)) if way == "async" else done(next(iter(stream))))
        await done(stream.close())
        return {"cancelled": True}

    async def retry():
        return {"text": text_of(await ask(f"Overloaded for {way}", client(retries=4)))}

    async def refusals():
        async def told(asked):
            try:
                await asked
            except anthropic.APIStatusError as error:
                return error

        return {
            "key": (await told(ask("Hello", client("wrong")))).status_code,
            "model": (await told(ask("Hello", model="none"))).status_code,
            "invalid": getattr(await told(ask("Invalid")), "message", None),
        }

    plays = [text, stream, tools, streamed_tools, runner, thinking, structured, media, cache, citations, search]
    return {play.__name__: play for play in [*plays, count, models, cancel, retry, refusals]}


run(scenarios)
