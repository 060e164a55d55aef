"""Frameworks for agents: frameworks.py BASE_URL KEY MODES, where a mode is FRAMEWORK/API/MODEL

Each is imported where it is played: not all can be installed together.
"""

import json
import sys

from pydantic import BaseModel
from scenarios import PERSON, run

base_url, key = sys.argv[1:3]
of_openai = {"base_url": f"{base_url}/v1", "api_key": key}
of_anthropic = {"base_url": base_url, "api_key": key}
HELLO = "Hello there"
CALL = "Call weather {city: Lisbon}"


class Person(BaseModel):
    name: str
    age: int


def autogen(api, model):
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.messages import ModelClientStreamingChunkEvent, ToolCallRequestEvent
    from autogen_ext.models.anthropic import AnthropicChatCompletionClient
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    abilities = ("vision", "function_calling", "json_output", "structured_output")
    info = {**dict.fromkeys(abilities, True), "family": "unknown"}
    if api == "messages":
        client = AnthropicChatCompletionClient(model=model, model_info=info, max_tokens=3000, **of_anthropic)
    else:
        client = OpenAIChatCompletionClient(model=model, model_info=info, **of_openai)

    async def weather(city: str) -> str:
        """The weather of a city."""
        return f"Sunny in {city}"

    async def text():
        done = await AssistantAgent("planner", client).run(task=HELLO)
        return {"text": done.messages[-1].content}

    async def stream():
        agent = AssistantAgent("planner", client, model_client_stream=True)
        events = [event async for event in agent.run_stream(task=HELLO)]
        pieces = [event.content for event in events if isinstance(event, ModelClientStreamingChunkEvent)]
        return {"text": "".join(pieces), "pieces": len(pieces)}

    async def tools():
        agent = AssistantAgent("planner", client, tools=[weather], reflect_on_tool_use=True)
        messages = (await agent.run(task=CALL)).messages
        calls = [call for each in messages if isinstance(each, ToolCallRequestEvent) for call in each.content]
        return {"called": [json.loads(call.arguments) for call in calls], "text": messages[-1].content}

    async def structured():
        done = await AssistantAgent("planner", client, output_content_type=Person).run(task="Who?")
        return done.messages[-1].content.model_dump()

    # Its client of the messages API takes no schema.
    return [text, stream, tools] if api == "messages" else [text, stream, tools, structured]


def pydantic_ai(api, model):
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    if api == "messages":
        asked = AnthropicModel(model, provider=AnthropicProvider(**of_anthropic))
    else:
        asked = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}[api](model, provider=OpenAIProvider(**of_openai))

    async def text():
        return {"text": (await Agent(asked).run(HELLO)).output}

    async def stream():
        async with Agent(asked).run_stream(HELLO) as result:
            pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
        return {"text": "".join(pieces), "pieces": len(pieces)}

    async def tools():
        called = []
        agent = Agent(asked)

        @agent.tool_plain
        def weather(city: str) -> str:
            """The weather of a city."""
            called.append({"city": city})
            return f"Sunny in {city}"

        return {"text": (await agent.run(CALL)).output, "called": called}

    async def structured():
        # It does not know that this model of the messages API could be asked for a schema.
        shape = Person if api == "messages" else NativeOutput(Person)
        return (await Agent(asked, output_type=shape).run("Who?")).output.model_dump()

    return [text, stream, tools, structured]


def smolagents(_, model):
    from smolagents import OpenAIModel, ToolCallingAgent, tool
    from smolagents.monitoring import LogLevel

    asked = OpenAIModel(model, api_base=of_openai["base_url"], api_key=key)
    hello = [{"role": "user", "content": [{"type": "text", "text": HELLO}]}]

    def text():
        return {"text": asked.generate(hello).content}

    def stream():
        pieces = [delta.content for delta in asked.generate_stream(hello) if delta.content]
        return {"text": "".join(pieces), "pieces": len(pieces)}

    def tools():
        called = []

        @tool
        def weather(city: str) -> str:
            """The weather of a city.

            Args:
                city: Its name.
            """
            called.append({"city": city})
            # Its agent ends by a tool, which the provider calls where it is named.
            return f"final_answer {{answer: The tool said: Sunny in {city}}}"

        agent = ToolCallingAgent([weather], asked, max_steps=3, verbosity_level=LogLevel.OFF)
        return {"text": agent.run(CALL), "called": called}

    def structured():
        schema = {"name": "person", "schema": PERSON, "strict": True}
        answer = asked.generate(hello, response_format={"type": "json_schema", "json_schema": schema})
        return json.loads(answer.content)

    return [text, stream, tools, structured]


def instructor(api, model):
    from anthropic import AsyncAnthropic
    from instructor import Mode, from_anthropic, from_openai
    from openai import AsyncOpenAI

    if api == "messages":
        tooled = from_anthropic(AsyncAnthropic(**of_anthropic), mode=Mode.TOOLS)
        # With this version of the SDK it would ask for a schema in words.
        schemed = tooled
    else:
        tooled = from_openai(AsyncOpenAI(**of_openai), mode=Mode.TOOLS)
        schemed = from_openai(AsyncOpenAI(**of_openai), mode=Mode.JSON_SCHEMA)

    class weather(BaseModel):
        """The weather of a city."""

        city: str

    def options(content, shape):
        messages = [{"role": "user", "content": content}]
        return {"model": model, "messages": messages, "response_model": shape, "max_retries": 0, "max_tokens": 3000}

    async def text():
        answer = await tooled.create(**options(HELLO, None))
        return {"text": answer.content[0].text if api == "messages" else answer.choices[0].message.content}

    async def stream():
        pieces = [piece async for piece in tooled.create_partial(**options(CALL.replace("weather", "Partialweather"), weather))]
        return {"text": pieces[-1].city, "pieces": len(pieces)}

    async def tools():
        return {"called": [(await tooled.create(**options(CALL, weather))).model_dump()]}

    async def structured():
        return (await schemed.create(**options("Who?", Person))).model_dump()

    return [text, stream, tools, structured]


frameworks = {"AutoGen": autogen, "pydantic-ai": pydantic_ai, "smolagents": smolagents, "instructor": instructor}


def scenarios(mode):
    framework, api, model = mode.split("/")
    return {play.__name__: play for play in frameworks[framework](api, model)}


run(scenarios)
