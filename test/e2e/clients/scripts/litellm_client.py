"""LiteLLM as a client of models: litellm_client.py BASE_URL KEY MODELS"""

import json
import sys

import litellm
from scenarios import CITY, PDF, PERSON, PNG, outcome_of, run

base_url, key = sys.argv[1:3]
litellm.suppress_debug_info = True
WEATHER = {"name": "weather", "description": "The weather of a city", "parameters": CITY}


def scenarios(model):
    def ask(content, **options):
        messages = content if isinstance(content, list) and "role" in content[0] else [{"role": "user", "content": content}]
        options = {"model": model, "api_key": key, "max_tokens": 3000, "num_retries": 0, "max_retries": 0, **options}
        options["model"] = f"anthropic/{options['model']}"
        return litellm.completion(api_base=base_url, messages=messages, **options)

    def message_of(answer):
        return answer.choices[0].message

    def streamed(content, **options):
        """The whole message of a stream, and the pieces of its text."""
        chunks = list(ask(content, stream=True, **options))
        pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices[0].delta.content]
        return litellm.stream_chunk_builder(chunks), pieces

    def text():
        answer = ask("Hello there")
        usage = answer.usage
        return {"text": message_of(answer).content, "input": usage.prompt_tokens, "output": usage.completion_tokens}

    def stream():
        answer, pieces = streamed("Hello there")
        return {"text": message_of(answer).content, "pieces": len(pieces)}

    def loop(turn):
        messages = [{"role": "user", "content": "Call weather"}]
        answer = turn(messages)
        calls = message_of(answer).tool_calls
        inputs = [json.loads(call.function.arguments) for call in calls]
        results = [
            {"role": "tool", "tool_call_id": call.id, "content": f"Sunny in {given['city']}"}
            for call, given in zip(calls, inputs)
        ]
        last = turn([*messages, message_of(answer).model_dump(), *results])
        return {"called": inputs, "text": message_of(last).content}

    offered = [{"type": "function", "function": WEATHER}]

    def tools():
        return loop(lambda messages: ask(messages, tools=offered))

    def streamed_tools():
        return loop(lambda messages: streamed(messages, tools=offered)[0])

    def thinking():
        # Of models that it does not know it asks whether they think.
        options = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "allowed_openai_params": ["thinking"]}
        messages = [{"role": "user", "content": "Hello there"}]
        first = message_of(ask(messages, **options))
        following = message_of(ask([*messages, first.model_dump(), {"role": "user", "content": "Go on"}], **options))
        return {"thinking": first.thinking_blocks[0]["thinking"], "text": first.content, "next": following.content}

    def structured():
        schema = {"name": "person", "schema": PERSON, "strict": True}
        return json.loads(message_of(ask("Who?", response_format={"type": "json_schema", "json_schema": schema})).content)

    def media():
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
        paper = {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}"}}
        return {"text": message_of(ask([{"type": "text", "text": "Look"}, picture, paper])).content}

    def cache():
        said = {"type": "text", "text": "Hello there", "cache_control": {"type": "ephemeral"}}
        return {"cached": ask([said]).usage.cache_read_input_tokens}

    def search():
        message = message_of(ask("Look for weirs", tools=[{"type": "web_search_20250305", "name": "web_search"}]))
        cited = message.provider_specific_fields["citations"]
        return {"found": [each["url"] for block in cited for each in block]}

    async def messages_api():
        asked = litellm.anthropic_messages(
            model=f"anthropic/{model}",
            api_key=key,
            api_base=base_url,
            max_tokens=3000,
            messages=[{"role": "user", "content": "Hello there"}],
        )
        return {"text": (await asked)["content"][0]["text"]}

    def cancel():
        stream = ask("Slow", stream=True, max_tokens=60_000)
        next(iter(stream))
        stream.completion_stream.response_iterator.close()
        return {"cancelled": True}

    def retry():
        return {"text": message_of(ask("Overloaded for LiteLLM", num_retries=4)).content}

    def refusals():
        return {
            "key": outcome_of(lambda: ask("Hello", api_key="wrong")),
            "model": outcome_of(lambda: ask("Hello", model="none")),
            "invalid": outcome_of(lambda: ask("Invalid"), "message"),
        }

    plays = [text, stream, tools, streamed_tools, thinking, structured, media, cache, search, messages_api]
    return {play.__name__: play for play in [*plays, cancel, retry, refusals]}


run(scenarios)
