"""Tools that the caller executes: asked for in every way, answered in the next request, and one run throughout."""

import asyncio
import json

from .either import CLIENTS, call, each, entered
from .ways import poll, take, Got
from .world import expect, failed, passed

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
FUNCTION = {"name": "weather", "parameters": PARAMETERS, "strict": True}
CHAT_TOOLS = [{"type": "function", "function": FUNCTION}]
RESPONSE_TOOLS = [{"type": "function", **FUNCTION}]


async def chat_stream(client, messages):
    """The message as a program puts it together from the pieces."""
    named = {"model": "forecaster", "messages": messages, "tools": CHAT_TOOLS, "stream": True}
    message, calls, finish = {"role": "assistant", "content": ""}, {}, None
    async for chunk in each(await call(client.chat.completions.create, **named)):
        for choice in chunk.choices:
            message["content"] += choice.delta.content or ""
            finish = choice.finish_reason or finish
            for piece in choice.delta.tool_calls or []:
                empty = {"id": piece.id, "type": "function", "function": {"name": "", "arguments": ""}}
                known = calls.setdefault(piece.index, empty)["function"]
                known["name"] += piece.function.name or ""
                known["arguments"] += piece.function.arguments or ""
    return message | ({"tool_calls": list(calls.values())} if calls else {}), finish


def plain(completion):
    choice = completion.choices[0]
    return choice.message.to_dict(), choice.finish_reason


async def chat_helper(client, messages):
    named = {"model": "forecaster", "messages": messages, "tools": CHAT_TOOLS}
    async with entered(client.chat.completions.stream(**named)) as stream:
        return plain(await call(stream.get_final_completion))


async def chat_whole(client, messages):
    named = {"model": "forecaster", "messages": messages, "tools": CHAT_TOOLS}
    return plain(await call(client.chat.completions.create, **named))


async def check_chat(client, ask):
    messages = [{"role": "user", "content": "Oslo and Rome"}]
    first, finish = await ask(client, messages)
    expect(finish == "tool_calls", f"the first answer ended with {finish}")
    expect(first["content"] == "Looking it up. ", f"it says {first['content']!r}")
    calls = first["tool_calls"]
    cities = [json.loads(each["function"]["arguments"])["city"] for each in calls]
    expect(cities == ["Oslo", "Rome"], f"it asks about {cities}")
    results = [
        {"role": "tool", "tool_call_id": each["id"], "content": weather}
        for each, weather in zip(calls, ["snow", "sun"])
    ]
    answer = {key: value for key, value in first.items() if key in ("role", "content", "tool_calls")}
    second, finish = await ask(client, [*messages, answer, *results])
    expect(finish == "stop", f"the second answer ended with {finish}")
    expect(second["content"] == "It is snow. It is sun.", f"it says {second['content']!r}")


async def response_stream(client, **named):
    got = Got()
    await take(await call(client.responses.create, **named, stream=True), got)
    return got.seen[-1].response


async def response_helper(client, **named):
    async with entered(client.responses.stream(**named)) as stream:
        return await call(stream.get_final_response)


async def response_whole(client, **named):
    return await call(client.responses.create, **named)


async def response_background(client, **named):
    answer = await call(client.responses.create, **named, background=True)
    return await poll(client, answer.id)


async def check_response(client, ask):
    named = {"model": "forecaster", "tools": RESPONSE_TOOLS}
    first = await ask(client, **named, input="Oslo")
    kinds = [item.type for item in first.output]
    expect((first.status, kinds) == ("completed", ["message", "function_call"]), f"it is {first.status} with {kinds}")
    wanted = first.output[1]
    expect(json.loads(wanted.arguments) == {"city": "Oslo"}, f"it asks with {wanted.arguments}")
    results = [{"type": "function_call_output", "call_id": wanted.call_id, "output": "snow"}]
    second = await ask(client, **named, input=results, previous_response_id=first.id)
    expect(second.status == "completed", f"the second answer is {second.status}")
    expect(second.output_text == "It is snow.", f"it says {second.output_text!r}")


ASKED = [
    ("chat, stream", check_chat, chat_stream),
    ("chat, helper", check_chat, chat_helper),
    ("chat, whole", check_chat, chat_whole),
    ("response, stream", check_response, response_stream),
    ("response, helper", check_response, response_helper),
    ("response, whole", check_response, response_whole),
    ("response, background", check_response, response_background),
]


async def check_tools(world):
    await asyncio.gather(*(check(world, kind, *asked) for kind in CLIENTS for asked in ASKED))


async def check(world, kind, name, check_answers, ask):
    title = f"client tool call: {kind}, {name}"
    client = world.client(kind)
    try:
        await check_answers(client, ask)
        passed(title)
    except Exception as problem:
        failed(title, problem)
    finally:
        await call(client.close)
