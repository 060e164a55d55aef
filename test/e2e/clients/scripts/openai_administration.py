"""What the openai package has for limits of an organization and a project: openai_administration.py BASE_URL ADMIN_KEY PROJECT

Prints what each call gave, as one JSON object. The same calls are made by both clients, whose answers have to be the same.
"""

import asyncio
import inspect
import json
import sys

import openai

base_url, admin_key, project = sys.argv[1:4]
options = {"base_url": f"{base_url}/v1", "api_key": "none", "admin_api_key": admin_key, "max_retries": 0}
LIMIT = {"currency": "USD", "interval": "month", "threshold_amount": 500}


async def done(value):
    """What a call gives: at once in the one client, after waiting in the other."""
    return await value if inspect.isawaitable(value) else value


async def spend(resource, of):
    """A limit that is set, read, deleted, and missing."""
    seen = [(await done(resource.update(**LIMIT, **of))).to_dict()]
    seen.append((await done(resource.retrieve(**of))).to_dict())
    seen.append((await done(resource.delete(**of))).to_dict())
    try:
        await done(resource.retrieve(**of))
    except openai.NotFoundError as error:
        seen.append(error.code)
    return seen


async def rates(resource, of):
    """Rows over more than one page, one of which is changed and changed back."""
    pages = resource.list_rate_limits(**of, limit=1)
    rows = [row async for row in pages] if hasattr(pages, "__aiter__") else list(pages)
    seen = [row.id for row in rows]
    own = {"rate_limit_id": rows[0].id, **of}
    changed = await done(resource.update_rate_limit(**own, max_requests_per_1_minute=7))
    seen.append(changed.max_requests_per_1_minute)
    tier = rows[0].max_requests_per_1_minute
    back = await done(resource.update_rate_limit(**own, max_requests_per_1_minute=tier))
    return [*seen, back.max_requests_per_1_minute == tier]


async def models(resource, of):
    """A list of models that is set, read and deleted."""
    seen = [(await done(resource.update(**of, mode="deny_list", model_ids=["weir-sim-1"]))).to_dict()]
    seen.append((await done(resource.retrieve(**of))).to_dict())
    return [*seen, (await done(resource.delete(**of))).to_dict()]


async def main():
    found = []
    for client in (openai.OpenAI(**options), openai.AsyncOpenAI(**options)):
        organization, of = client.admin.organization, {"project_id": project}
        found.append(
            {
                "organization": await spend(organization.spend_limit, {}),
                "project": await spend(organization.projects.spend_limit, of),
                "rates": await rates(organization.projects.rate_limits, of),
                "models": await models(organization.projects.model_permissions, of),
            }
        )
    assert found[0] == found[1]
    print(json.dumps(found[0]))


asyncio.run(main())
