"""LangChain against models: langchain_client.py BASE_URL KEY MODELS"""

import sys

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from scenarios import CITY, PDF, PERSON, PNG, outcome_of, run

base_url, key = sys.argv[1:3]
WEATHER = {"name": "weather", "description": "The weather of a city", "input_schema": CITY}


def scenarios(model):
    def chat(**options):
        options = {"model": model, "api_key": key, "base_url": base_url, "max_tokens": 3000, "max_retries": 0, **options}
        return ChatAnthropic(**options)

    def parts(*content):
        return [HumanMessage(content=list(content))]

    def blocks_of(message):
        return [block for block in message.content if isinstance(block, dict)]

    def text():
        answer = chat().invoke("Hello there")
        usage = answer.usage_metadata
        return {"text": answer.text, "input": usage["input_tokens"], "output": usage["output_tokens"]}

    def stream():
        pieces = [piece.text for piece in chat().stream("Hello there") if piece.text]
        return {"text": "".join(pieces), "pieces": len(pieces)}

    def loop(asked):
        messages = [HumanMessage("Call weather")]
        answer = asked.invoke(messages)
        calls = answer.tool_calls
        results = [ToolMessage(f"Sunny in {call['args']['city']}", tool_call_id=call["id"]) for call in calls]
        last = asked.invoke([*messages, answer, *results])
        return {"called": [call["args"] for call in calls], "text": last.text}

    def tools():
        return loop(chat().bind_tools([WEATHER]))

    def streamed_tools():
        return loop(chat(streaming=True).bind_tools([WEATHER]))

    async def thinking():
        thinker = chat(thinking={"type": "enabled", "budget_tokens": 1024})
        messages = [HumanMessage("Hello there")]
        first = await thinker.ainvoke(messages)
        following = await thinker.ainvoke([*messages, first, HumanMessage("Go on")])
        return {"thinking": blocks_of(first)[0]["thinking"], "text": first.text, "next": following.text}

    def structured():
        schema = {"title": "person", "description": "A person", **PERSON}
        return chat().with_structured_output(schema).invoke("Who?")

    def media():
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
        paper = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}
        return {"text": chat().invoke(parts({"type": "text", "text": "Look"}, picture, paper)).text}

    def cache():
        said = {"type": "text", "text": "Hello there", "cache_control": {"type": "ephemeral"}}
        return {"cached": chat().invoke(parts(said)).usage_metadata["input_token_details"]["cache_read"]}

    def cited(answer, field):
        return [each[field] for block in blocks_of(answer) for each in block.get("citations") or []]

    def citations():
        source = {"type": "text", "media_type": "text/plain", "data": "A weir holds water back."}
        paper = {"type": "document", "title": "On weirs", "source": source, "citations": {"enabled": True}}
        return {"cited": cited(chat().invoke(parts({"type": "text", "text": "What of weirs?"}, paper)), "document_title")}

    def search():
        tool = {"type": "web_search_20250305", "name": "web_search", "max_uses": 1}
        return {"found": cited(chat(streaming=True).bind_tools([tool]).invoke("Look for weirs"), "url")}

    def count():
        return {"tokens": chat().get_num_tokens_from_messages([HumanMessage("Hello there")])}

    def cancel():
        stream = chat(max_tokens=60_000).stream("Slow")
        next(stream)
        stream.close()
        return {"cancelled": True}

    def retry():
        return {"text": chat(max_retries=4).invoke("Overloaded for LangChain in Python").text}

    def refusals():
        return {
            "key": outcome_of(lambda: chat(api_key="wrong").invoke("Hello")),
            "model": outcome_of(lambda: chat(model="none").invoke("Hello")),
            "invalid": outcome_of(lambda: chat().invoke("Invalid"), "message"),
        }

    plays = [text, stream, tools, streamed_tools, thinking, structured, media, cache, citations, search]
    return {play.__name__: play for play in [*plays, count, cancel, retry, refusals]}


run(scenarios)
