"""What the scripts of clients in Python have in common: the same is in scenarios.mjs."""

import asyncio
import base64
import inspect
import json
import sys

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


async def every_mode(scenarios_of):
    """Runs each scenario for the strict and the passing model, and prints a line of JSON of what came of each."""
    for mode, model in zip(("strict", "passing"), sys.argv[3:5]):
        for scenario, play in scenarios_of(model).items():
            try:
                result = play()
                outcome = {"result": await result if inspect.isawaitable(result) else result}
            except Exception as error:
                outcome = {"refused": {"status": getattr(error, "status_code", None), "message": str(error)}}
            print(json.dumps({"mode": mode, "scenario": scenario, **outcome}), flush=True)


def run(scenarios_of):
    asyncio.run(every_mode(scenarios_of))


def outcome_of(ask, field="status_code"):
    """What is told of a failure; None where there is none."""
    try:
        ask()
    except Exception as error:
        return getattr(error, field, None) if field else str(error)
    return None
