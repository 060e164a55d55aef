"""What the scripts of clients in Python have in common: the same is in scenarios.mjs."""

import asyncio
import base64
import inspect
import json
import sys
from concurrent.futures import ThreadPoolExecutor

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
# One pixel.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
PDF = base64.b64encode(b"%PDF-1.4\n%%EOF\n").decode()


async def every_scenario(scenarios_of, mode, model):
    """Runs each of them for a model, and prints a line of JSON of what came of it."""
    for scenario, play in scenarios_of(model).items():
        try:
            result = play()
            outcome = {"result": await result if inspect.isawaitable(result) else result}
        except Exception as error:
            outcome = {"refused": {"status": getattr(error, "status_code", None), "message": str(error)}}
        # One write: other threads print too.
        sys.stdout.write(json.dumps({"mode": mode, "scenario": scenario, **outcome}) + "\n")
        sys.stdout.flush()


def run(scenarios_of, at_once=None):
    """Does so for all models, which are an object of JSON, by the mode they stand for.

    One after another, or at once: "tasks" of one loop for a client that awaits, "threads" for one that blocks. What awaits has to stay in
    one loop: garbage of one thread may be collected by another, and a client that is garbage is closed in the loop of the thread that
    finds it.
    """
    models = json.loads(sys.argv[3]).items()

    async def tasks():
        await asyncio.gather(*(every_scenario(scenarios_of, *model) for model in models))

    async def turns():
        for model in models:
            await every_scenario(scenarios_of, *model)

    if at_once == "threads":
        with ThreadPoolExecutor(len(models)) as threads:
            list(threads.map(lambda model: asyncio.run(every_scenario(scenarios_of, *model)), models))
    else:
        asyncio.run(tasks() if at_once == "tasks" else turns())


def outcome_of(ask, field="status_code"):
    """What is told of a failure; None where there is none."""
    try:
        ask()
    except Exception as error:
        return getattr(error, field, None) if field else str(error)
    return None
